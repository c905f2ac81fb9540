// Package card writes the model card of trained weights: what they were made of, how, and how good they were.
package card

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Card is what a model card says. What is not known is "" or nil, and left out.
type Card struct {
	Name      string // of the repository
	Base      string // the base model's name
	Local     bool   // the name is of a folder or file here, not on the hub
	Adapter   string // what was trained of it
	Algorithm string
	Data      []string
	Step      int // of the weights; 0: not known
	Command   string
	Measured  []Measure
}

// Measure is an evaluation before training and at the step of the weights.
type Measure struct {
	Name          string
	Before, After float64
}

// Read finds out what a job's folder says about its weights of a step.
func (c *Card) Read(job string, step int) error {
	c.Step = step
	set := source.NotedSettings(job)
	text := func(key string) string {
		if s, ok := set[key]; ok && s.Value != nil {
			return fmt.Sprint(s.Value)
		}
		return ""
	}
	if c.Algorithm = text("algorithm.algorithm_type"); c.Algorithm != "" {
		c.Algorithm += settings([][2]string{{"samples per task", text("algorithm.repeat_times")},
			{"tasks per step", text("buffer.batch_size")}, {"learning rate", text("algorithm.optimizer.lr")},
			{"seed", text("seed")}})
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		from := set[key].Origin
		chosen := from != "default" && !strings.HasPrefix(from, "derived: ")
		if dataPath.MatchString(key) && chosen && text(key) != "" {
			c.Data = append(c.Data, public(text(key)))
		}
	}
	slices.Sort(c.Data)
	c.Data = slices.Compact(c.Data)
	c.Command = command(set)
	return c.measure(job)
}

// dataPath matches the keys of data that is trained or evaluated on.
var dataPath = regexp.MustCompile(`^buffer\.(explorer_input|trainer_input)\..+\.path$`)

// settings are those that have a value, in brackets.
func settings(list [][2]string) string {
	var said []string
	for _, s := range list {
		if s[1] != "" {
			said = append(said, s[0]+" "+s[1])
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}

// public is a path without the folders of this machine.
func public(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Base(path)
	}
	return path
}

// origins of settings, as a configuration notes them.
var (
	fromFile     = regexp.MustCompile(`^(.+\.ya?ml):\d+$`)
	fromOverride = regexp.MustCompile(`^override (([^=]+)=.*)$`)
	secret       = regexp.MustCompile(`(?i)key$|token$|secret|password|credential`)
)

// command is the one that trained, by where the settings came from. What may be secret or a place on this machine is
// left out.
func command(set map[string]source.Setting) string {
	file, overrides := "", map[string]bool{}
	for _, s := range set {
		if m := fromFile.FindStringSubmatch(s.Origin); m != nil {
			file = filepath.Base(m[1])
		}
		if m := fromOverride.FindStringSubmatch(s.Origin); m != nil && !secret.MatchString(m[2]) &&
			!strings.Contains(m[1], string(filepath.Separator)) {
			overrides[m[1]] = true
		}
	}
	if file == "" {
		return ""
	}
	return strings.Join(append([]string{"trinity run --config " + file}, slices.Sorted(maps.Keys(overrides))...), " ")
}

// Text is the card as a file: metadata that the hub reads, then what people read.
func (c *Card) Text() string {
	var t strings.Builder
	t.WriteString("---\nlibrary_name: transformers\ntags: [trinity]\n")
	if modelName.MatchString(c.Base) && !c.Local {
		fmt.Fprintf(&t, "base_model: %s\n", c.Base)
	}
	fmt.Fprintf(&t, "---\n\n# %s\n\nTrained with trinity.\n\n| | |\n|---|---|\n", c.Name)
	row := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&t, "| %s | %s |\n", what, cell(text))
		}
	}
	row("base", public(c.Base))
	row("trained", c.Adapter)
	row("data", strings.Join(c.Data, ", "))
	row("algorithm", c.Algorithm)
	if c.Step > 0 {
		row("steps", fmt.Sprint(c.Step))
	}
	if len(c.Measured) > 0 {
		t.WriteString("\n## Evaluation\n\n| | before | after |\n|---|---|---|\n")
		for _, m := range c.Measured {
			fmt.Fprintf(&t, "| %s | %.3f | %.3f |\n", cell(m.Name), m.Before, m.After)
		}
	}
	if c.Command != "" {
		fmt.Fprintf(&t, "\n## Command\n\n```\n%s\n```\n", foreign.Plain(c.Command))
	}
	return t.String()
}

// modelName matches names on the hub: owner/name.
var modelName = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)

// cell is text in a table.
func cell(text string) string { return strings.ReplaceAll(foreign.Plain(text), "|", "\\|") }

// Write writes the card into dir and returns the file.
func (c *Card) Write(dir string) (string, error) {
	path := filepath.Join(dir, "README.md")
	return path, os.WriteFile(path, []byte(c.Text()), 0o644)
}
