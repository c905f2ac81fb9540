// Command gguf-out trains a model of a GGUF file for a few steps, writes the GGUF files of the job, and compares them
// in llama.cpp, and the adapter in Python's peft.
//
// Needs: a GGUF file of a Llama, Qwen2, Qwen3 or Gemma 3 model as its argument, Python and pip and a C++ compiler, or
// PYTHON=python with the packages
// Takes: ten minutes
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Println("skipped: name a GGUF file of a Llama, Qwen2, Qwen3 or Gemma 3 model: " +
			"go run ./bench gguf-out FILE.gguf")
		return
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gguf-out:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	python, err := venv.Python("bin/gguf-out", "llama-cpp-python==0.3.36", "gguf==0.19.0", "torch",
		"transformers==5.23.0", "peft==0.21.2")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gguf-out")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	base, adapter, err := files(ctx, file, work)
	if err != nil {
		return err
	}
	wide := filepath.Join(work, "wide")
	if err := widen(base, wide); err != nil {
		return err
	}
	answers, err := answers(ctx, base, wide, adapter)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"base": wide, "adapter": adapter, "answers": answers})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "ours.json"), raw, 0o644); err != nil {
		return err
	}
	return show(ctx, nil, python, "bench/gguf-out/compare.py", work)
}

// files trains, and writes into work what compare.py reads. It returns the folders of the base model and the adapter.
func files(ctx context.Context, file, work string) (base, adapter string, err error) {
	file, err = filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	trinity, job := filepath.Join(work, "trinity"), filepath.Join(work, "job")
	cache := []string{"XDG_CACHE_HOME=" + filepath.Join(work, "cache")} // where the model folder is made
	commands := [][]string{{"go", "build", "-o", trinity, "./cmd/trinity"},
		{trinity, "run", "--config", "bench/gguf-out/job.yaml", "model.model_path=" + file,
			"checkpoint_root_dir=" + job}}
	for _, kind := range []string{"f16", "bf16", "q8_0", "q4_k_m", "lora"} {
		commands = append(commands,
			[]string{trinity, "convert", "-c", job, "--gguf", kind, "-o", filepath.Join(work, kind+".gguf")})
	}
	for _, c := range commands {
		if err := show(ctx, cache, c...); err != nil {
			return "", "", err
		}
	}
	if base, err = one(filepath.Join(work, "cache", "trinity", "gguf", "*")); err != nil {
		return "", "", err
	}
	adapter, err = one(filepath.Join(job, "gguf-out", "job", "tinker", "checkpoints", "*", "weights", "*",
		"adapter_config.json"))
	if err != nil {
		return "", "", err
	}
	return base, filepath.Dir(adapter), show(ctx, cache, trinity, "convert", "-c", base, "--gguf", "f32", "-o",
		filepath.Join(work, "base-f32.gguf"))
}

// show runs a command and shows what it prints.
func show(ctx context.Context, env []string, command ...string) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	return nil
}

func one(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d files match %s, want one", len(found), pattern)
	}
	return found[0], nil
}
