package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
)

// answers prints the greedy answers to the first test problems, by trinity chat with a model or a job's folder. It
// prints what an earlier call wrote down.
func (x *experiment) answers(what, model string) part {
	return func(ctx context.Context) error {
		path := filepath.Join(x.Dir, "answers", strings.ReplaceAll(what, " ", "-")+".txt")
		text, err := os.ReadFile(path)
		if err != nil {
			if text, err = x.ask(ctx, what, model); err == nil {
				err = write(path, text)
			}
		}
		fmt.Print(string(text))
		return err
	}
}

func (x *experiment) ask(ctx context.Context, what, model string) ([]byte, error) {
	list, err := x.firstProblems(5)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, p := range list {
		answer, err := x.chat(ctx, model, p.Question)
		if err != nil {
			return nil, err
		}
		b.WriteString("\nproblem: " + p.Question + "\nsolution: " + p.Answer + "\nanswer " + what + ": " + answer +
			"\n")
	}
	return []byte(b.String()), nil
}

type problem struct{ Question, Answer string }

// firstProblems reads the first test problems.
func (x *experiment) firstProblems(n int) (all []problem, err error) {
	f, err := os.Open(filepath.Join(x.Data, "main", "test.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); len(all) < n && lines.Scan(); {
		var p problem
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		all = append(all, p)
	}
	return all, nil
}

// chat asks one question with the example's prompt.
func (x *experiment) chat(ctx context.Context, model, question string) (string, error) {
	cfg, err := x.Job("chat").Load()
	if err != nil {
		return "", err
	}
	program, err := x.program(ctx)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "chat", model, "--temperature", "0", "--max-tokens", "320", "--system",
		cfg.Buffer.ExplorerInput.EvalTasksets[0].Format.SystemPrompt)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(question, "\n", " ") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// program builds the program and returns its path.
func (x *experiment) program(ctx context.Context) (string, error) {
	path := filepath.Join(x.Dir, "trinity")
	return path, job.Exec(ctx, "go", "build", "-o", path, "./cmd/trinity")
}
