//go:build unix

package reward

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var benchSize = flag.Int("reward.size", 1<<20, "bytes of the answers that BenchmarkGraders grades")

// shapes are answers that make a grader work: what each repeats, and what stands around it.
func shapes() map[string][3]string {
	return map[string][3]string{
		"prose":            {"", "So we add the 3 apples to the $x+1$ pears, which gives 12 = 4 \\cdot 3 in all.\n", "The answer is \\boxed{12}."},
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
	}
}

func shaped(shape [3]string, size int) string {
	return shape[0] + strings.Repeat(shape[1], size/len(shape[1])) + shape[2]
}

// graders are the table of rewards and what workflows use besides.
func graders() map[string]func(Sample) error {
	all := map[string]func(Sample) error{"math_eval": func(s Sample) error { SameAnswer(s.Response, s.Truth); return nil }}
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

// cpuTime is what the process has used, in nanoseconds; other programs on the machine do not count.
func cpuTime(b *testing.B) int64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return use.Utime.Nano() + use.Stime.Nano()
}

// BenchmarkGraders gives the processor time per megabyte of every grader on every shape.
func BenchmarkGraders(b *testing.B) {
	all := graders()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, shape := range slices.Sorted(maps.Keys(shapes())) {
			text := shaped(shapes()[shape], *benchSize)
			b.Run(name+"/"+shape, func(b *testing.B) {
				start := cpuTime(b)
				for b.Loop() {
					if err := all[name](Sample{Response: text, Truth: truthFor(name)}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpuTime(b)-start)/1e6/float64(b.N)/(float64(len(text))/(1<<20)), "cpu-ms/MB")
			})
		}
	}
}
