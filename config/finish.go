package config

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// finish derives what was left open, checks the result, and returns everything wrong: what decoding found, and what
// the checks found, unless a problem of decoding in the same section may explain it.
func (c *Config) finish(found document.Problems) error {
	c.Derive()
	all := found
	for _, p := range c.check() {
		if !explained(p, c.given(p.Key), found) {
			all = append(all, p)
		}
	}
	return all.Err()
}

// explained reports whether p may be a consequence of an earlier problem: the same key, or something that is missing
// in a section where a key could not be read.
func explained(p *document.Problem, given bool, earlier document.Problems) bool {
	for _, e := range earlier {
		section := ""
		if i := strings.LastIndexByte(e.Key, '.'); i >= 0 {
			section = e.Key[:i]
		}
		if within(p.Key, e.Key) || !given && within(p.Key, section) {
			return true
		}
	}
	return false
}

// within reports whether key is section or lies inside it.
func within(key, section string) bool {
	rest, ok := strings.CutPrefix(key, section)
	return ok && (section == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Validate returns a joined [*Problem] for each value that cannot be used. It expects a derived configuration: [Load]
// does both; after changing fields in Go, call [Config.Derive] first.
func (c *Config) Validate() error { return c.check().Err() }

// Derive fills what was left open from what was given, and replaces what cannot apply; [Config.Notes] says what was
// replaced. Doing it again after a change brings derived values up to date.
func (c *Config) Derive() {
	c.deriveSaved()
	c.deriveTop()
	c.deriveAlgorithm()
	c.deriveModel()
	c.deriveSynchronizer()
	c.deriveExplorer()
	c.deriveTasksets()
	c.deriveVerl()
	c.deriveExperienceBuffers()
	c.derivePipeline()
	c.deriveStages()
}

// fill sets *v where it is nil, and records the derivation.
func fill[T any](c *Config, v **T, key string, value T, from string) {
	if *v == nil || c.trace.origins[key].Kind == FromDerivation {
		*v = &value
		c.derive(key, from)
	}
}

// fillInt sets *v where it is 0 and nobody gave it.
func fillInt(c *Config, v *int, key string, value int, from string) {
	if (*v == 0 && !c.given(key)) || c.trace.origins[key].Kind == FromDerivation {
		*v = value
		c.derive(key, from)
	}
}

// fillText sets *s where it is empty.
func fillText(c *Config, s *string, key, value, from string) {
	if value != "" && (*s == "" || c.trace.origins[key].Kind == FromDerivation) {
		*s = value
		c.derive(key, from)
	}
}
