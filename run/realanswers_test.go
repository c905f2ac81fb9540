package run

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// answers prints the greedy answers to the first test problems, by trinity chat with a model or a job's folder. It
// prints what an earlier call wrote down.
func (r realRun) answers(what, model string) {
	r.Helper()
	const problems = 5
	path := filepath.Join(*realDir, "answers", strings.ReplaceAll(what, " ", "-")+".txt")
	text, err := os.ReadFile(path)
	if err != nil {
		var b strings.Builder
		for _, p := range r.problems(problems) {
			b.WriteString("\nproblem: " + p.Question + "\nsolution: " + p.Answer + "\nanswer " + what + ": " +
				r.chat(model, p.Question) + "\n")
		}
		text = []byte(b.String())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			r.Fatal(err)
		}
	}
	r.Log(string(text))
}

type realProblem struct{ Question, Answer string }

// problems reads the first test problems.
func (r realRun) problems(n int) (all []realProblem) {
	r.Helper()
	f, err := os.Open(filepath.Join(*realData, "main", "test.jsonl"))
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); len(all) < n && lines.Scan(); {
		var p realProblem
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			r.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// chat asks one question with the example's prompt.
func (r realRun) chat(model, question string) string {
	r.Helper()
	cfg := r.config("chat")
	cmd := exec.Command(r.program(), "chat", model, "--temperature", "0", "--max-tokens", "320", "--system",
		cfg.Buffer.ExplorerInput.EvalTasksets[0].Format.SystemPrompt)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(question, "\n", " ") + "\n")
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(string(out))
}

// program builds the program and returns its path.
func (r realRun) program() string {
	r.Helper()
	path, err := filepath.Abs(filepath.Join(*realDir, "trinity"))
	if err != nil {
		r.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/trinity").CombinedOutput(); err != nil {
		r.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}
