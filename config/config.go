// Package config is the run configuration: Trinity-RFT's YAML schema (version 0.6.0), decoded strictly over its
// defaults.
//
// [Load] takes three steps: package document reads the text into a tree of values with their places, the tree is
// decoded onto the schema (decode.go), and what was left open is derived (derive*.go) and checked (validate*.go). All
// problems are returned together, each with its place in the file. The schema is one plain struct per section, in the
// file named after the section.
//
// The package reads no environment variable and writes nothing; it only asks whether files that the configuration names
// exist.
package config

import (
	"maps"
	"path/filepath"
	"reflect"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Config is a whole configuration. The zero value is not useful: start from [Default] or [Load].
type Config struct {
	Mode           Mode   `yaml:"mode"`
	Project        string `yaml:"project"`
	Group          string `yaml:"group"` // an extra level of the job directory, and the monitor's group
	Name           string `yaml:"name"`
	CheckpointRoot string `yaml:"checkpoint_root_dir"` // made absolute
	RayNamespace   string `yaml:"ray_namespace" applies:"no"`
	Continue       bool   `yaml:"continue_from_checkpoint"`
	IgnoreChecks   bool   `yaml:"ignore_validator_suggestions" applies:"no"`
	Seed           *int64 `yaml:"seed"`            // ours: everything random derives from it; null is drawn at first
	PluginDir      string `yaml:"plugin_dir,null"` // ours: folders of Python files, as --plugin-dir names them

	Algorithm     Algorithm     `yaml:"algorithm"`
	DataProcessor DataProcessor `yaml:"data_processor"`
	Model         Model         `yaml:"model"`
	Cluster       Cluster       `yaml:"cluster"`
	Buffer        Buffer        `yaml:"buffer"`
	Explorer      Explorer      `yaml:"explorer"`
	Trainer       Trainer       `yaml:"trainer"`
	Monitor       Monitor       `yaml:"monitor"`
	Synchronizer  Synchronizer  `yaml:"synchronizer"`
	Service       Service       `yaml:"service"`
	Fleet         Fleet         `yaml:"fleet"` // ours
	Log           Log           `yaml:"log"`
	Stages        []Stage       `yaml:"stages"`

	_ struct{} `auto:"checkpoint_job_dir"`

	follows052 bool // see [Follow052]

	tree  *document.Node // what was decoded
	own   Names          // the program's parts
	trace trace          // where each value came from, and what was noted on the way
}

// Mode says which loops a process runs.
type Mode string

// The modes. Colocate is both on one GPU, which is no different from both here.
const (
	Both     Mode = "both"
	Train    Mode = "train"
	Explore  Mode = "explore"
	Bench    Mode = "bench"
	Serve    Mode = "serve"
	Colocate Mode = "colocate"

	ServeTrain Mode = "serve+train" // ours: serve, and train on what is committed, in one process
)

// Explores reports whether the mode samples rollouts.
func (m Mode) Explores() bool { return m != Train && !m.Serves() }

// Serves reports whether the mode answers programs that sample for themselves.
func (m Mode) Serves() bool { return m == Serve || m == ServeTrain }

// Trains reports whether the mode updates weights.
func (m Mode) Trains() bool { return m == Train || m == Both || m == Colocate || m == ServeTrain }

func (Mode) choices() ([]string, map[string]string) {
	return []string{"both", "train", "explore", "bench", "serve", "serve+train", "colocate"}, nil
}

// Default returns the configuration of an empty file, before derivation.
func Default() *Config {
	c := new(Config)
	setDefaults(c)
	return c
}

func (c *Config) defaults() {
	c.Mode = Both
	c.Project = "Trinity-RFT"
	c.Name = "rft"
	c.Continue = true
}

// Load reads the file at path, lays the overrides (`dotted.key=value`, the value in YAML) over it, derives what was
// left open and validates. lookup answers ${oc.env:NAME}; os.LookupEnv is the usual one. The error joins one
// [*Problem] for each thing that is wrong.
func Load(path string, overrides []string, lookup func(string) (string, bool), parts ...Names) (*Config, error) {
	text, err := disk.ReadFile(path, disk.SmallFile)
	if err != nil {
		return nil, problemReading(path, err)
	}
	return Parse(path, text, overrides, lookup, parts...)
}

// Parse is [Load] for a text that is already read; messages call it name.
func Parse(name string, text []byte, overrides []string, lookup func(string) (string, bool), parts ...Names) (
	*Config, error) {
	c := Default()
	defaults := func() *document.Node { return encode(reflect.ValueOf(Default()).Elem()) }
	root, found := document.Read(name, text, overrides, lookup, defaults)
	if root == nil {
		return nil, found.Err()
	}
	c.trace, c.tree, c.own = decodeInto(c, root, &found), root, joined(parts)
	return c, c.finish(found)
}

// Names are the names of the parts that a program has, which its configurations may choose. run.Plugins.Names returns
// them.
type Names struct {
	// Functions are those of section algorithm by their key, such as policy_loss_fn. A key without names takes any
	// here; an unknown name then fails when the run begins. The same holds for Selectors.
	Functions map[string][]string
	Selectors []string

	Monitors []string // a program's own
	Readers  []string // storage types of tasksets

	Refused map[string]string // parts that the program has and that cannot be used, with the reason
}

// joined merges the names of several packages of parts.
func joined(parts []Names) Names {
	all := Names{Functions: map[string][]string{}, Refused: map[string]string{}}
	for _, p := range parts {
		for key, names := range p.Functions {
			all.Functions[key] = append(all.Functions[key], names...)
		}
		all.Selectors = append(all.Selectors, p.Selectors...)
		all.Monitors = append(all.Monitors, p.Monitors...)
		all.Readers = append(all.Readers, p.Readers...)
		maps.Copy(all.Refused, p.Refused)
	}
	return all
}

// JobDir is the directory of the run: root/project[/group]/name.
func (c *Config) JobDir() string {
	return filepath.Join(c.CheckpointRoot, c.Project, c.Group, c.Name)
}
