package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Origin says where a value came from.
type Origin struct {
	Kind OriginKind
	Name string // the file, the override, the environment variable, or why it was derived
	at   document.Position
}

// OriginKind is the sort of place that a value came from.
type OriginKind uint8

// The kinds of origin.
const (
	FromDefault OriginKind = iota
	FromFile
	FromOverride
	FromEnvironment
	FromDerivation
)

// String is the origin in a few words: "default", "run.yaml:12", "override seed=1", "environment HOME", "derived: …".
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.at.Line)
	case FromOverride:
		return "override " + o.Name
	case FromEnvironment:
		return "environment " + o.Name
	case FromDerivation:
		return "derived: " + o.Name
	}
	return "default"
}

func originOf(n *document.Node) Origin {
	switch {
	case n.Env != "":
		return Origin{FromEnvironment, n.Env, n.At}
	case n.At.Src == nil:
		return Origin{}
	case n.At.Src.Override != "":
		return Origin{FromOverride, n.At.Src.Override, n.At}
	}
	return Origin{FromFile, n.At.Src.File, n.At}
}

// trace records how a configuration was made.
type trace struct {
	origins map[string]Origin // by dotted key
	idle    []string          // keys that were given and do not apply here
	auto    []string          // keys that were given and are set by the program
	saved   bool              // Trinity-RFT wrote the configuration; until deriveSaved
	notes   []string
}

// Origin returns where the value of the dotted key came from. Everything inside a derived value has its origin.
func (c *Config) Origin(key string) Origin {
	if o, ok := c.trace.origins[key]; ok {
		return o
	}
	for {
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return Origin{}
		}
		key = key[:i]
		if o := c.trace.origins[key]; o.Kind == FromDerivation {
			return o
		}
	}
}

// Given reports whether the file, an override or the environment set the key, and nothing derived replaced it.
func (c *Config) Given(key string) bool { return c.given(key) }

// given reports whether the file, an override or the environment set the key.
func (c *Config) given(key string) bool {
	o, ok := c.trace.origins[key]
	return ok && o.Kind != FromDefault && o.Kind != FromDerivation
}

// derive remembers that the value of key was worked out, and from what. A value that was given keeps its place too.
func (c *Config) derive(key, from string) {
	if c.trace.origins == nil {
		c.trace.origins = map[string]Origin{}
	}
	c.trace.origins[key] = Origin{FromDerivation, from, c.trace.origins[key].at}
}

func (c *Config) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.trace.notes, text) {
		c.trace.notes = append(c.trace.notes, text)
	}
}

// Notes are the warnings of loading, in words for the user: what was changed and why, and one line for all given keys
// that have no meaning here.
func (c *Config) Notes() []string {
	notes := slices.Clone(c.trace.notes)
	for _, note := range c.versions() {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if len(c.trace.idle) > 0 {
		notes = append(notes, "not applying here (no GPUs, Ray, vLLM or verl; docs/guide/trinity-rft.md has the "+
			"others): "+strings.Join(c.trace.idle, ", "))
	}
	if len(c.trace.auto) > 0 {
		notes = append(notes, "set by the program; the given values are not used: "+strings.Join(c.trace.auto, ", "))
	}
	return notes
}
