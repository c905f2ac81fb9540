package config

import (
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Stage is one entry of `stages`: whole sections that replace the file's for one part of a run.
type Stage struct {
	StageName     string         `yaml:"stage_name"`
	Mode          *Mode          `yaml:"mode"`
	Algorithm     *Algorithm     `yaml:"algorithm"`
	Buffer        *Buffer        `yaml:"buffer"`
	DataProcessor *DataProcessor `yaml:"data_processor"`
	Explorer      *Explorer      `yaml:"explorer"`
	Trainer       *Trainer       `yaml:"trainer"`
}

// Stage is the configuration of stage i: this one with the sections that the stage gives in place of its own, each as a
// whole, and the stage's name as the last level of the job directory.
func (c *Config) Stage(i int) (*Config, error) {
	s := c.stage(i)
	return s, s.check().Err()
}

func (c *Config) stage(i int) *Config {
	root := &document.Node{Kind: document.Mapping, At: c.tree.At}
	for _, f := range c.tree.Fields {
		if f.Key != "stages" {
			root.Set(f.Key, f.At, f.Value)
		}
	}
	for _, f := range c.tree.Get("stages").Items[i].Fields {
		if f.Key != "stage_name" && !f.Value.IsNull() {
			root.Set(f.Key, f.At, f.Value)
		}
	}
	var found document.Problems // decoding found them in the whole
	s := Default()
	s.trace = decodeInto(s, root, &found)
	s.tree, s.own = root, c.own
	s.CheckpointRoot, s.Name = c.CheckpointRoot, filepath.Join(c.Name, c.Stages[i].StageName)
	s.Trainer.SaveHFCheckpoint = "last"
	s.Derive()
	return s
}

// staged reports whether the stages can be made out; if not, that is a problem which is reported.
func (c *Config) staged() bool {
	if len(c.Stages) == 0 || c.tree == nil || len(c.tree.Get("stages").Items) != len(c.Stages) {
		return false
	}
	k := checker{c: c}
	k.stages()
	return len(k.found) == 0
}

// deriveStages derives what the sections of each stage leave open.
func (c *Config) deriveStages() {
	if !c.staged() {
		return
	}
	for i := range c.Stages {
		s, own := c.stage(i), &c.Stages[i]
		replace(own.Mode, s.Mode)
		replace(own.Algorithm, s.Algorithm)
		replace(own.Buffer, s.Buffer)
		replace(own.DataProcessor, s.DataProcessor)
		replace(own.Explorer, s.Explorer)
		replace(own.Trainer, s.Trainer)
	}
}

func replace[T any](section *T, derived T) {
	if section != nil {
		*section = derived
	}
}

// checkStages checks what the configuration is in each stage: as a whole, without them, it need not make sense.
func (c *Config) checkStages() document.Problems {
	var k checker
	seen := map[string]bool{}
	for i := range c.Stages {
		for _, p := range c.stage(i).check() {
			text := p.Error()
			if !seen[text] {
				seen[text] = true
				own := *p
				own.Text += " (in stage " + c.Stages[i].StageName + ")"
				k.found = append(k.found, &own)
			}
		}
	}
	return k.found
}
