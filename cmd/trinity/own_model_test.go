package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// TestOwnModel writes the files of docs/guide/own-model.md and runs its commands, with a hub in this process that has a
// small model and a few problems under the page's names.
func TestOwnModel(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/own-model.md")
	if err != nil {
		t.Fatal(err)
	}
	script, commands := pageScript(string(page))
	if commands < 5 {
		t.Fatalf("the page has %d commands:\n%s", commands, script)
	}
	file := filepath.Join(t.TempDir(), "own-model.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	s := hubtest.New(t, map[string]hubtest.Repo{"models/meta-llama/Llama-3.2-3B": hubtest.TinyLlama(),
		"datasets/openai/gsm8k": problems(t)})
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: func(e *testscript.Env) error {
		e.Setenv("HOME", e.WorkDir)
		e.Setenv("HF_ENDPOINT", s.URL)
		return nil
	}})
}

// TestModelsPage does the same with docs/guide/gguf.md and a small GGUF file.
func TestModelsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/gguf.md")
	if err != nil {
		t.Fatal(err)
	}
	script, commands := pageScript(string(page))
	if commands < 5 {
		t.Fatalf("the page has %d commands:\n%s", commands, script)
	}
	file := filepath.Join(t.TempDir(), "models.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: func(e *testscript.Env) error {
		e.Setenv("HOME", e.WorkDir)
		e.Setenv("HF_HUB_OFFLINE", "1")
		gguftest.Model{Arch: "llama", Type: gguf.Q8_0}.Write(t,
			filepath.Join(e.WorkDir, "SmolLM2-135M-Instruct.Q4_1.gguf"))
		return nil
	}})
}

// pageScript makes a script of the fenced blocks of a page: sh blocks are commands, others whose first line is a
// comment with a file's name are that file.
func pageScript(page string) (script string, commands int) {
	var run, files strings.Builder
	blocks := strings.Split(page, "\n```")
	for i := 1; i < len(blocks); i += 2 {
		kind, body, _ := strings.Cut(blocks[i], "\n")
		if kind != "sh" {
			head, rest, _ := strings.Cut(body, "\n")
			name := strings.Trim(head, "#/{}- ")
			if kind == "jinja" {
				rest = body
			}
			fmt.Fprintf(&files, "-- %s --\n%s\n", name, rest)
			continue
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			if set, ok := strings.CutPrefix(line, "export "); ok {
				fmt.Fprintf(&run, "env %s\n", set)
			} else if line != "" {
				fmt.Fprintf(&run, "exec %s\n", line)
				commands++
			}
		}
	}
	return run.String() + files.String(), commands
}

// problems is a data set in the hub's layout.
func problems(t *testing.T) hubtest.Repo {
	type row struct {
		Question string `parquet:"question"`
		Answer   string `parquet:"answer"`
	}
	rows := make([]row, 20)
	for i := range rows {
		rows[i] = row{fmt.Sprintf("What is %d + %d?", i, i), fmt.Sprintf("#### %d", 2*i)}
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	return hubtest.Repo{Files: map[string][]byte{"main/train-00000-of-00001.parquet": b.Bytes()}}
}
