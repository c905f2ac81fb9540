package reward

import (
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

// TestGradersLinear: twice the answer makes every grader allocate at most twice as much, whatever the answer is. The
// work allocates here: lists of places, matches, texts. Times are for BenchmarkGraders.
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
			one, two := allocated(1<<15), allocated(1<<16)
			if two > 5*one/2+1<<20 {
				t.Errorf("%s on %s: %d bytes for 32 KiB, %d for twice as much", name, shape, one, two)
			}
		}
	}
}
