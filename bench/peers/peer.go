package main

import (
	"os"
	"path/filepath"
	"slices"
)

// peer is another program: a script beside this file, run by the Python of an environment.
type peer struct {
	name     string
	script   string
	venv     string // folder below the environments' folder
	install  string // what puts it there
	kinds    []kind
	settings func(row, int) []setting // worth trying for a row on so many threads, the likeliest first
}

// peers are the programs that trinity is measured beside.
func peers() []peer {
	return []peer{
		{name: "PyTorch", script: "torch_peer.py", venv: "torch", install: "pip install torch transformers peft",
			kinds: []kind{train, prefill, decode}, settings: torchSettings},
		{name: "SkyRL", script: "skyrl_peer.py", venv: "skyrl", install: "pip install 'skyrl[jax,tinker]'", kinds: []kind{train}, settings: dtypes},
	}
}

func (p peer) can(k kind) bool { return slices.Contains(p.kinds, k) }

// python is the interpreter of the peer's environment, or empty. given stands for all of them if it is not empty.
func (p peer) python(venvs, given string) string {
	if given != "" {
		return given
	}
	path := filepath.Join(venvs, p.venv, "bin", "python")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// torchSettings are bf16 and, for training and where it fits the memory, float32; with all threads and with one.
func torchSettings(r row, n int) []setting {
	list := threads(r, n)
	if r.kind == train && r.shape.name != "3b" {
		for _, s := range threads(r, n) {
			s.DType = "f32"
			list = append(list, s)
		}
	}
	return list
}

// threads are bf16 with all threads, and with one.
func threads(_ row, n int) []setting {
	return slices.Compact([]setting{{DType: "bf16", Threads: n}, {DType: "bf16", Threads: 1}})
}

// dtypes are bf16 and, where it fits the memory, float32; the threads are the program's own.
func dtypes(r row, n int) []setting {
	list := single(r, n)
	if r.shape.name != "3b" {
		list = append(list, setting{DType: "f32", Threads: n})
	}
	return list
}

// single leaves everything to the program.
func single(_ row, n int) []setting { return []setting{{DType: "bf16", Threads: n}} }
