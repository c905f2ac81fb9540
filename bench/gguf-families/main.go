// Command gguf-families writes small models of the families as GGUF files and compares their logits in llama.cpp with
// those of transformers.
//
// Needs: Python and pip and a C++ compiler, or PYTHON=python with llama-cpp-python and safetensors
// Takes: a minute, and ten to build llama.cpp
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modelfile"
)

// folders has the models, and what transformers computes of them in float32.
const folders = "engine/internal/model/testdata/families"

// families are those whose logits are in folders.
var families = []string{"llama32", "llama31", "qwen25", "qwen3", "qwen3moe", "qwen35", "qwen35-gva", "smollm3",
	"granite", "granite4", "lfm2"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gguf-families:", err)
		os.Exit(1)
	}
}

func run() error {
	python, err := venv.Python("bin/gguf-families", "llama-cpp-python==0.3.36", "safetensors", "numpy")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gguf-families")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, family := range families {
		base := filepath.Join(work, family)
		if err := speak(filepath.Join(folders, family), base); err != nil {
			return err
		}
		g := engine.GGUF{Base: base, Name: family}
		if _, _, err := g.Write(modelfile.Kinds()[0], base+".gguf"); err != nil { // in F32
			return err
		}
	}
	c := exec.Command(python, append([]string{"bench/gguf-families/compare.py", work, folders}, families...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// speak copies a model's folder and gives it what a file must have: a tokenizer, and a context.
func speak(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	path := filepath.Join(to, "config.json")
	data, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(data, []byte("max_position_embeddings")) {
		err = os.WriteFile(path, bytes.Replace(data, []byte("{"), []byte(`{"max_position_embeddings": 512,`), 1), 0o600)
	}
	if err != nil {
		return err
	}
	const tokenizer = `{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2}, "merges": []}}`
	return os.WriteFile(filepath.Join(to, "tokenizer.json"), []byte(tokenizer), 0o600)
}
