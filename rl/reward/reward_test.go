package reward

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// TestAccuracy compares with Trinity-RFT's rules over the real math_verify (testdata/accuracy_reward.py).
func TestAccuracy(t *testing.T) {
	for _, row := range readGolden(t, "testdata/accuracy_reward.jsonl") {
		got, err := Accuracy(Sample{Response: row.Response, Truth: row.Truth})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != (Score{"accuracy", row.Accuracy}) {
			t.Errorf("truth %q, response %q: got %v, want %v", row.Truth, row.Response, got, row.Accuracy)
		}
	}
}

// TestDiffers holds what is known to differ from upstream to that: a row that agrees belongs to the others.
func TestDiffers(t *testing.T) {
	for _, row := range readGolden(t, "testdata/differs.jsonl") {
		got, err := Math(Sample{Response: row.Response, Truth: row.Truth})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Value == row.Accuracy {
			t.Errorf("truth %q, response %q agree with upstream by now; move the row to the golden file", row.Truth,
				row.Response)
		}
	}
}

func TestMathBoxed(t *testing.T) {
	think := map[string]any{"with_think": true, "format_score_coef": 0.2}
	tests := []struct {
		response, truth  string
		args             map[string]any
		accuracy, format float64
	}{
		{"<think>x</think> \\boxed{36}", "36", nil, 1, 0},
		{"\\boxed{36 }", "36", nil, 1, 0},
		{"So the total is \\boxed{36} pens.", "36", nil, 1, 0},
		{"\\boxed{35.00}", "36", nil, 0, 0},
		{"<think>x</think> \\boxed{36}", "36", think, 1, 0},
		{"\\boxed{36}", "36", think, 1, -0.2},
		{"<think>a<think>b</think>\\boxed{36}", "36", think, 1, -0.2},
		{"</think>x<think>\\boxed{1}", "36", think, 0, -0.2},
		{"\\boxed{36}", "36", map[string]any{"with_think": true}, 1, -0.1},
		{"\\boxed{36}", "36", map[string]any{"with_think": true, "format_score_coef": 0}, 1, -0.1},
		{"\\boxed{100}", "\\boxed{100}", nil, 1, 0},
		{"\\boxed{100}", "100", nil, 1, 0},
		{"\\boxed{-1}", "1", nil, 0, 0},
		{"\\boxed{left}", "right", nil, 0, 0},
		{"36", "36", nil, 0, 0},
		{"", "36", nil, 0, 0},
		{"\\boxed{}", "\\boxed{}", nil, 1, 0},
		{"\\boxed{1}", "\\boxed{}", nil, 0, 0},
		{"\\boxed{A} or \\boxed{B}", "B", nil, 1, 0},
		{"\\boxed{A} or \\boxed{B}", "A", nil, 0, 0},
		{"\\boxed 5$ and more", "5", nil, 1, 0},
		{"\\fbox{5}", "5", nil, 0, 0},
		{"\\boxed{5", "5", nil, 0, 0},
		{"\\boxed{\\frac{1}{2}}", "1/2", nil, 1, 0},
		{"\\boxed{0.5}", "1/2", nil, 0, 0},
	}
	for _, tt := range tests {
		got, err := MathBoxed(Sample{Response: tt.response, Truth: tt.truth, Args: tt.args})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != (Score{"accuracy", tt.accuracy}) || got[1] != (Score{"format_score", tt.format}) {
			t.Errorf("%q for %q with %v: got %v, want %v and %v", tt.response, tt.truth, tt.args, got, tt.accuracy,
				tt.format)
		}
	}
	if _, err := MathBoxed(Sample{Args: map[string]any{"with_think": "yes"}}); err == nil ||
		!strings.Contains(err.Error(), "with_think") {
		t.Errorf("with_think as text: error %v", err)
	}
}

// The spellings of 50\% and infinity are upstream's: it drops % before \%, and replaces inf inside \infty.
func TestStripString(t *testing.T) {
	for text, want := range map[string]string{
		" 36 \n": "36", "36.": "36", "36.00": "36", "1.50": "1.50", ".5": "0.5", "\\$36": "36", "50\\%": "50\\",
		"50%":       "50",
		"\\dfrac12": "\\frac{1}{2}", "\\frac1{2}": "\\frac{1}{2}", "1/2": "\\frac{1}{2}", "\\sqrt3": "\\sqrt{3}",
		"x = 5":               "5",
		"\\left(1, 2\\right)": "1,2", "\\{1\\}": "1", "{5}": "5", "90^\\circ": "90", "90^{\\circ}": "90",
		"\\text{yes}": "yes",
		"5 apples":    "5", "12 km": "12", "10 meters": "10", "\\mbox{cm} 5": "5", "infinity": "\\\\inftyty",
		"inf": "\\infty",
		"two": "2", "forty-two": "42", "one hundred": "100", "three hundred five": "305",
		"two million three thousand one": "2003001",
		"one point five":                 "1.5", "007": "7", "a\\neq b": "\\neb",
		"\\begin{bmatrix}1\\end{bmatrix}": "\\begin{pmatrix}1\\end{pmatrix}",
		"(":                               "(", "()": "", "": "",
	} {
		if got := tex.StripString(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCountdown(t *testing.T) {
	const truth = `{"target": 24, "numbers": [4, 6, 1]}`
	for response, want := range map[string]float64{
		"<answer>4 * 6 * 1</answer>":                        1,
		"<answer>(4*6)/1</answer>":                          1,
		"<answer>5</answer> then <answer>6*4/1</answer>":    1,
		"thinking\n<answer> 4*6*1 </answer>":                1,
		"<answer>4*6*1</answer>\n":                          0, // the last line is empty
		"4*6*1":                                             0,
		"<answer>4*6</answer>":                              0.1,
		"<answer>4*6*1*1</answer>":                          0.1,
		"<answer>4+6+1</answer>":                            0.1,
		"<answer>4*6*1=24</answer>":                         0.1,
		"<answer>(4*6*1</answer>":                           0.1,
		"<answer>1/(6-6)*4</answer>":                        0.1,
		"<answer></answer>":                                 0.1,
		"<answer>" + strings.Repeat("(", 500) + "</answer>": 0.1,
	} {
		got, err := Countdown(Sample{Response: response, Truth: truth})
		if err != nil {
			t.Fatal(err)
		}
		if got.Total() != want {
			t.Errorf("%.60q: got %v, want %v", response, got.Total(), want)
		}
	}
	for _, truth := range []string{"24", `{"target": 98, "nums": [44, 19, 35]}`, `{"numbers": [44, 19, 35]}`} {
		_, err := Countdown(Sample{Response: "<answer>1</answer>", Truth: truth})
		if err == nil || !strings.Contains(err.Error(), "wants the truth to be") {
			t.Errorf("truth %s: error %v", truth, err)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		response, pattern string
		want              float64
	}{
		{"<think>\na\nb\n</think>\n<answer>\n5\n</answer>", "", 0.1},
		{"<think>\na\n</think>\n<answer>\n5\n</answer>\nmore", "", 0.1}, // $ ends any line
		{"<think>a</think><answer>5</answer>", "", -0.1},
		{" <think>\na\n</think>\n<answer>\n5\n</answer>", "", -0.1},
		{"42!", `\d+!`, 0.1},
		{"x42!", `\d+!`, -0.1},
	} {
		s := Sample{Response: tt.response}
		if tt.pattern != "" {
			s.Args = map[string]any{"pattern": tt.pattern}
		}
		got, err := Format(s)
		if err != nil || got.Total() != tt.want {
			t.Errorf("%q: got %v, %v, want %v", tt.response, got, err, tt.want)
		}
	}
	if _, err := Format(Sample{Args: map[string]any{"pattern": "("}}); err == nil {
		t.Error("a pattern that does not compile was accepted")
	}
}

func TestFuncs(t *testing.T) {
	scores, err := Funcs()["math_reward"](Sample{Response: "<think>1+1</think><answer>2</answer>",
		Truth: "1+1 = 2\n#### 2"})
	if err != nil || scores.Total() != 1.1 {
		t.Errorf("got %v, %v, want 1.1 in all", scores, err)
	}
	if v, ok := scores.Get("accuracy"); v != 1 || !ok {
		t.Errorf("accuracy is %v, %v", v, ok)
	}
	if _, ok := scores.Get("other"); ok {
		t.Error("a score that is not there was found")
	}
}

// TestNested grades what nests or grows deeper than any expression: it ends, without a panic.
func TestNested(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 20000), "$" + strings.Repeat("{", 5000) + "$", "$2" +
			strings.Repeat("^{9", 80) + strings.Repeat("}", 80) + "$",
		"9**9**9**9 + 1", "$9^{9^{9^{9}}}$", "$" + strings.Repeat("9!", 50) + "$", strings.Repeat("9", 100000),
		"answer " + strings.Repeat("$", 3000),
		"$" + strings.Repeat("|", 300) + "$", "$" + strings.Repeat("-", 5000) + "1$", "$" +
			strings.Repeat("((1),", 60) + "1" + strings.Repeat(")", 60) + "$",
		"$" + strings.Repeat("1+", 1000) + "1$", "$(1+1/7)^{30000}$", "$" + strings.Repeat("x(", 90) + "1+1" +
			strings.Repeat(")", 90) + "$", "$" + strings.Repeat("[x=", 90) + "1" + strings.Repeat("]", 90) + "$",
		"$" + strings.Repeat("\\{x=", 45) + "1" + strings.Repeat("\\}", 45) + "$", "$" + strings.Repeat("x=(1,", 45) +
			"1" + strings.Repeat(")", 45) + "$", strings.Repeat("\\boxed{", 800),
	} {
		if _, err := Math(Sample{Response: text, Truth: text}); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzMath grades arbitrary texts against each other: never a panic.
func FuzzMath(f *testing.F) {
	for _, s := range []string{"#### 72", "$\\frac{1}{2}$", "\\boxed{(1,2]\\cup\\{3\\}}", "48/2 = 24",
		"$x_1^2\\le\\sqrt[3]{5!}$", "9%", "$\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$", "$|x|$ and $\\pm 2$"} {
		f.Add(s, "5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 400 {
			return
		}
		for _, grade := range Funcs() {
			_, _ = grade(Sample{Response: a, Truth: b})
		}
		_, _ = expression.LaTeX(a)
		_, _ = expression.Arithmetic(a)
		_ = tex.StripString(a)
	})
}
