package run

import (
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
)

// gemKey is a key of trinity gem and the YAML's key that parts of a run read in its place.
type gemKey struct {
	gem, yaml string
	set       func(to *config.Config, c *gem.Config)
}

// gemKeys lists the keys that both have. All other keys of trinity gem are package gem's alone.
func gemKeys() []gemKey {
	type yaml = config.Config
	return []gemKey{
		{"seed", "seed", func(to *yaml, c *gem.Config) { to.Seed = &c.Seed }},
		{"model_name", "model.model_path", func(to *yaml, c *gem.Config) { to.Model.ModelPath = c.ModelName }},
		{"lora_rank", "model.tinker.rank", func(to *yaml, c *gem.Config) { to.Model.Tinker.Rank = c.LoRARank }},
		{"base_url", "model.tinker.base_url", func(to *yaml, c *gem.Config) { to.Model.Tinker.BaseURL = c.BaseURL }},
	}
}

// gemConfig is the configuration that parts of a run read.
func gemConfig(c *gem.Config) *config.Config {
	cfg := config.Default()
	for _, k := range gemKeys() {
		k.set(cfg, c)
	}
	cfg.Model.Tinker.Enable = true
	cfg.Explorer.PythonProcesses = gemProcesses
	return cfg
}

// gemProcesses is how many processes of Python play the episodes of trinity gem.
const gemProcesses = 2

// nameForGem says in messages how trinity gem sets a key of the YAML.
func nameForGem(yaml, value string) string {
	for _, k := range gemKeys() {
		if k.yaml == yaml {
			yaml = k.gem
		}
	}
	if value == "" {
		return yaml
	}
	return yaml + "=" + value
}
