package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
)

// environment is one of verifiers: the folder of its package in the repository, and the arguments that make it short.
type environment struct{ id, folder, args string }

// unmodified are environments of the repository of verifiers as they are. All but reverse-text, which reads the rows,
// run in the harness null of verifiers.
func unmodified(rows string) []environment {
	return []environment{
		{"echo-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
		// a user in a script, two turns
		{"echo-user-sim-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
		// two agents, one of them not trainable
		{"duet-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
		{"gsm8k", "environments/gsm8k", "taskset: {split: train}"},
		{"alphabet-sort", "environments/alphabet_sort", "taskset: {max_turns: 2, max_names_per_turn: 2}"},
		{"reverse-text", "environments/reverse_text",
			"config: {agent: {harness: {id: sums}}}, taskset: {dataset_name: " + rows + "}"},
	}
}

// place puts rows of our own where Hugging Face's datasets finds them offline, in a folder that it returns, with that
// of the rows of reverse-text in it.
func place(ctx context.Context, python string) (dir, rows string, err error) {
	if dir, err = os.MkdirTemp("", "trinity-verifiers-"); err != nil {
		return "", "", err
	}
	if err := os.Setenv("HF_HOME", filepath.Join(dir, "home")); err != nil {
		return "", "", err
	}
	if err := os.Setenv("HF_HUB_OFFLINE", "1"); err != nil {
		return "", "", err
	}
	rows = filepath.Join(dir, "rows")
	if _, err := write(filepath.Join(rows, "train.jsonl"), `{"prompt": "a b c"}`); err != nil {
		return "", "", err
	}
	for _, r := range []struct{ repository, config, row string }{
		{"openai/gsm8k", "main", `{"question": "Ann has 2 apples and gets 3.", "answer": "2+3=5\n#### 5"}`},
		{"kalomaze/alphabetic-arxiv-authors-it1", "default", `{"names": ["AnnLee", "BobKay", "CatFox", "DanEve"]}`},
	} {
		file, err := write(filepath.Join(dir, r.config+".jsonl"), r.row)
		if err == nil {
			err = job.Exec(ctx, python, "bench/verifiers/place.py", r.repository, r.config, "train", file)
		}
		if err != nil {
			return "", "", err
		}
	}
	return dir, rows, nil
}

// write makes a file with sixteen times the same row.
func write(file, row string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, []byte(strings.Repeat(row+"\n", 16)), 0o644)
}
