package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modelfile"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run"
)

const (
	ggufLoRA   = "lora"       // the --gguf that writes an adapter
	ggufOutput = "actor/gguf" // where GGUF files are put, in the step's folder
)

// checkGGUF checks the flags that --gguf changes.
func (c *convertCmd) checkGGUF() error {
	kinds := []string{ggufLoRA}
	for _, k := range modelfile.Kinds() {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	switch {
	case c.GGUF == "" && strings.HasSuffix(c.Output, ".gguf"):
		return usageError{fmt.Errorf("trinity: --output %s is a GGUF file; choose its type with --gguf, such as "+
			"--gguf q8_0", c.Output)}
	case c.GGUF != "" && !slices.Contains(kinds, c.GGUF):
		return usageError{fmt.Errorf("trinity: --gguf %s is not known; choose one of %s", c.GGUF,
			strings.Join(kinds, ", "))}
	case c.GGUF != "" && c.Output != "" && !strings.HasSuffix(c.Output, ".gguf"):
		return usageError{fmt.Errorf("trinity: --output %s must be a file that ends in .gguf with --gguf", c.Output)}
	}
	return nil
}

// gguf writes a GGUF file from a folder with an adapter or a model: out, or in the folder out. The model in the file
// has the name that the user calls the folder by, or the adapter its base model.
func (c *convertCmd) gguf(s *surroundings, dir, name, out string) error {
	template, _, err := run.JobTemplate(dir)
	if err != nil {
		return err
	}
	g, of := engine.GGUF{Base: dir, Name: name, Template: template}, "the full weights of "+name
	if has(dir, engine.AdapterConfigFile) {
		read, found, err := c.adapter(s, dir)
		if err != nil {
			return err
		}
		g.Adapter, g.Base, g.Name = &read, found, read.Base
		of = fmt.Sprintf("the adapter of %s (rank %d, alpha %g, %s)", name, read.Rank, read.Alpha,
			strings.Join(read.Modules, " "))
	}
	g.Name = strings.TrimSuffix(filepath.Base(filepath.Clean(g.Name)), ".gguf")
	if !strings.HasSuffix(out, ".gguf") {
		out = filepath.Join(out, g.Name+"-"+c.GGUF+".gguf")
	}
	if c.GGUF == ggufLoRA {
		if err := ggufAdapter(s, g, of, out); err != nil {
			return err
		}
		return c.push(s, dir, out)
	}
	if err := c.ggufModel(s, g, of, out); err != nil {
		return err
	}
	return c.push(s, dir, out, besideGGUF(out))
}

// besideGGUF is the Modelfile of a GGUF file.
func besideGGUF(out string) string { return strings.TrimSuffix(out, ".gguf") + ".Modelfile" }

// ggufModel writes the model, and a Modelfile beside it.
func (c *convertCmd) ggufModel(s *surroundings, g engine.GGUF, of, out string) error {
	beside := besideGGUF(out)
	if _, err := os.Lstat(beside); err == nil {
		return fmt.Errorf("%s exists already; remove it or choose another file with --output", beside)
	}
	f, warning, err := g.Write(modelfile.Kind(c.GGUF), out)
	if warning != nil {
		fmt.Fprintln(s.err, "warning:", foreign.Text(warning.Error()))
	}
	if err != nil {
		return err
	}
	if err := disk.WriteFile(disk.OS(), beside, []byte(f.Ollama(out))); err != nil {
		return err
	}
	if g.Adapter != nil {
		of += " merged into " + g.Base
	}
	fmt.Fprintf(s.out, "wrote %s, %s: %s\n", of, f.Types(), out)
	fmt.Fprintf(s.out, "it was read back and equals what was to be written; for Ollama: ollama create NAME -f %s\n",
		beside)
	return nil
}

// ggufAdapter writes the adapter alone.
func ggufAdapter(s *surroundings, g engine.GGUF, of, out string) error {
	if g.Adapter == nil {
		return fmt.Errorf("%s has no adapter: its weights were trained whole; write the model, with --gguf f16", g.Base)
	}
	base := g.Name
	g.Name += " LoRA"
	if _, err := g.WriteAdapter(out); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "wrote %s for llama.cpp: %s\n", of, out)
	fmt.Fprintf(s.out, "load it with a GGUF file of %s: llama-cli -m BASE.gguf --lora %s\n", base, out)
	return nil
}
