package expression

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestWorkOfOneAnswer: the budget of an evaluation makes long numbers approximate, or leaves them without a value.
func TestWorkOfOneAnswer(t *testing.T) {
	n, err := LaTeX(strings.Repeat("3000!+", 400) + "1")
	if err != nil {
		t.Fatal(err)
	}
	e := &evaluation{}
	if _, err := e.of(n); err == nil {
		t.Error("four hundred factorials have a value")
	}
	if e.work > 2*maxWork {
		t.Errorf("%d units of work under a budget of %d", e.work, maxWork)
	}
	if n, err = LaTeX("500!/499!"); err != nil {
		t.Fatal(err)
	}
	if v, err := evaluate(n, nil); err != nil || v.rat == nil || v.rat.RatString() != "500" {
		t.Errorf("500!/499! is %v, %v", v.rat, err)
	}
}

// TestLongFunctions: logarithms, remainders and multiples of long numbers stay within the budget too.
func TestLongFunctions(t *testing.T) {
	remainders, multiples := `\frac{1}{7}`, ""
	for k := 500; k < 900; k += 4 {
		multiples += fmt.Sprintf(`1E%d+1,`, k)
		remainders += fmt.Sprintf(`\mod (1/(1E%d+1))`, k)
	}
	for text, want := range map[string]string{
		`\log_{2}{8}`: "3", `\log_{\frac{1}{2}}{8}`: "-3", `\log_{10}{10^{300}}`: "300", `7^{2023}\mod 10`: "3",
		`\lcm(4,6,9)`: "36", `\gcd(84,36)`: "12",
		`\log_{1.0002` + strings.Repeat("0", 150) + `1}{2}`: "", // approximate
		`\lcm(` + multiples + `7)`:                          "none",
		remainders:                                          "none",
	} {
		n, err := LaTeX(text)
		if err != nil {
			t.Fatal(text, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := evaluate(n, nil)
		runtime.ReadMemStats(&after)
		got := "none"
		if err == nil {
			got = ""
			if v.rat != nil {
				got = v.rat.RatString()
			}
		}
		if got != want {
			t.Errorf("%.40s is %.40q, want %q", text, got, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%.40s allocates %d bytes", text, n)
		}
	}
}
