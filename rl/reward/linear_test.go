package reward

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// shapes are answers that make a grader work: what each repeats, and what stands around it.
func shapes() map[string][3]string {
	return map[string][3]string{
		"prose": {"", "So we add the 3 apples to the $x+1$ pears, which gives 12 = 4 \\cdot 3 in all.\n",
			"The answer is \\boxed{12}."},
		"boxes":            {"", `\boxed{`, ""},
		"boxes-closed":     {"", `\boxed{1} `, ""},
		"boxes-unread":     {"", `\boxed{\foo} or `, ""},
		"fboxes":           {"", `\fbox{1} `, ""},
		"braces":           {`\boxed{`, `{`, ""},
		"braces-closed":    {`\boxed{`, `{}`, "}"},
		"numbers":          {"", "12 ", ""},
		"numbers-boxed":    {`\boxed{`, "12, ", "}"},
		"sums":             {`\boxed{`, "1/7+", "1}"},
		"sums-text":        {"", "1+1/7 ", "1"},
		"digits":           {"", "9", ""},
		"digits-boxed":     {`\boxed{`, "9", "}"},
		"grouped":          {"1", ",000", ""},
		"fractions":        {"$", `\frac12`, "$"},
		"fractions-open":   {"", `\frac{1}{`, ""},
		"roots":            {`\boxed{`, `\sqrt(2`, "}"},
		"spaces":           {"answer", " ", "1"},
		"spaces-boxed":     {`\boxed{`, " ", "1}"},
		"dollars":          {"", "$", ""},
		"dollars-open":     {"", "$x ", ""},
		"unread":           {"", `$\foo$ `, ""},
		"brackets-open":    {"", `\[ \( [ `, ""},
		"answers":          {"", "answer: ", ""},
		"final-answers":    {"", "final answer is ", ""},
		"equals":           {"answer:", " = ", "1"},
		"equals-boxed":     {`\boxed{`, "x=", "1}"},
		"tags":             {"", "<answer>", ""},
		"tags-closed":      {"", "<answer>1</answer>", ""},
		"thinks":           {"", "<think></think>", ""},
		"newlines":         {"<think>", "\n</think>\n<answer>\n", ""},
		"units":            {`\boxed{`, "a h m s cm sq m t d ", "}"},
		"words":            {`\boxed{`, "one hundred ", "}"},
		"powers":           {`\boxed{`, "9^9*", "9}"},
		"factorials":       {`\boxed{`, "3000!+", "1}"},
		"set":              {`\boxed{\{`, `\sqrt{2}+1,`, `1\}}`},
		"parentheses":      {`\boxed{`, "(", "}"},
		"letters":          {`\boxed{`, "x y ", "}"},
		"text":             {`\boxed{`, `\text{a`, "}"},
		"matrix":           {`\boxed{\begin{pmatrix}`, `1&2\\`, `3&4\end{pmatrix}}`},
		"countdown":        {"<answer>", "1+", "1</answer>"},
		"countdown-powers": {"<answer>", "(1/7+1/9)*", "1</answer>"},
		"permutations":     {`\boxed{`, `(a`, "}"},
		"boxed-spaced":     {"", `\boxed `, ""},
		"cjk":              {"", "答案是", ""},
		"braces-numbers":   {"", "{ 1 ", ""},
		"groups-numbers":   {"", `^{ 1`, ""},
		"formulas":         {"", `\foo 1 `, ""},
		"formulas-dollars": {"$", `\foo 1 `, "$"},
		"sums-nested":      {`\boxed{`, `\sum_{i=1}^{9}`, "i}"},
	}
}

func shaped(shape [3]string, size int) string {
	return shape[0] + strings.Repeat(shape[1], size/len(shape[1])) + shape[2]
}

// graders are the table of rewards and what workflows use besides.
func graders() map[string]func(Sample) error {
	all := map[string]func(Sample) error{
		"math_eval": func(s Sample) error { SameAnswer(s.Response, s.Truth); return nil }}
	for name, f := range Funcs() {
		all[name] = func(s Sample) error { _, err := f(s); return err }
	}
	return all
}

func truthFor(name string) string {
	if name == "countdown_reward" {
		return `{"target": 12, "numbers": [3, 4]}`
	}
	return "12"
}

// TestGradersLinear: twice the answer makes every grader allocate at most twice as much, whatever the answer is. What
// allocates is what works here: lists of places, matches, texts. Times are for BenchmarkGraders.
func TestGradersLinear(t *testing.T) {
	for name, grade := range graders() {
		for shape, parts := range shapes() {
			allocated := func(size int) uint64 {
				s := Sample{Response: shaped(parts, size), Truth: truthFor(name)}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := grade(s); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			one, two := allocated(1<<16), allocated(1<<17)
			if two > 5*one/2+1<<20 {
				t.Errorf("%s on %s: %d bytes for 64 KiB, %d for twice as much", name, shape, one, two)
			}
		}
	}
}

// TestWorkOfOneAnswer: the budget of an evaluation makes long numbers approximate, or leaves them without a value.
func TestWorkOfOneAnswer(t *testing.T) {
	n, err := parseLatex(strings.Repeat("3000!+", 400) + "1")
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
	if n, err = parseLatex("500!/499!"); err != nil {
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
		n, err := parseLatex(text)
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
