// Package venv gives the programs below bench a Python with the packages they need.
package venv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Python returns the interpreter that the environment variable PYTHON names, which must have the packages already, or
// that of a virtual environment in dir, which is made with pip if it is not there.
func Python(dir string, packages ...string) (string, error) {
	if p := os.Getenv("PYTHON"); p != "" {
		return exec.LookPath(p)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	python := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		return python, nil
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir},
		append([]string{python, "-m", "pip", "install", "-q"}, packages...)} {
		c := exec.Command(args[0], args[1:]...)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Run(); err != nil {
			return "", fmt.Errorf("no environment in %s: %w; PYTHON may name a Python that has %v", dir, err, packages)
		}
	}
	return python, os.WriteFile(filepath.Join(dir, "made"), nil, 0o644)
}
