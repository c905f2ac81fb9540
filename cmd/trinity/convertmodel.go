package main

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/run/catalog"
)

// ofGGUF reports whether a name leads to a GGUF model: a file, a folder with one, or a name on the hub or in Ollama.
// The folder of a job, a model or an adapter is none, whatever lies beside it.
func ofGGUF(dir, name string) bool {
	if modelname.MadeOfGGUF(name) {
		return true
	}
	if has(dir, "run.json") || has(dir, engine.AdapterConfigFile) || catalog.IsModel(dir) || stepAbove(dir) != "" {
		return false
	}
	files, err := modelname.GGUFs(dir)
	return err == nil && len(files) > 0
}

// copyModel writes the Hugging Face folder of a GGUF model, or another GGUF file.
func (c *convertCmd) copyModel(s *surroundings) error {
	m, err := s.finder().Model(s.ctx, c.Checkpoint)
	if err != nil {
		return err
	}
	if c.Output == "" {
		return usageError{fmt.Errorf("trinity: %s is a GGUF model; name the folder to create with --output (with "+
			"--gguf, the file)", c.Checkpoint)}
	}
	if c.GGUF != "" {
		return c.convert(s, m.Dir, c.Checkpoint, c.Output)
	}
	if err := engine.CopyModel(m.Dir, c.Output, ""); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "wrote the weights of %s, in bf16, to %s\n", c.Checkpoint, c.Output)
	return c.push(s, m.Dir, c.Output)
}
