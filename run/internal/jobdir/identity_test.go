package jobdir

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// TestNumerics continues jobs with other arithmetics than they were begun with.
func TestNumerics(t *testing.T) {
	for _, c := range []struct{ was, is, note, err string }{
		{"trinity-4-blocked", "trinity-4-blocked", "", ""},
		{"trinity-4", "trinity-4-blocked", "", ""}, // as older versions wrote it
		{"trinity-4", "trinity-4-sequential", "", ""},
		{"trinity-3", "trinity-4-sequential", "the last bits can differ", ""},
		{"trinity-4-blocked", "trinity-4-sequential", "the last bits can differ", ""},
		{"", "", "", ""},
		{"", "trinity-4-blocked", "", "begun on a server"},
		{"trinity-4-blocked", "", "", "begun on the local engine"},
	} {
		note, err := Identity{Numerics: c.was}.Check(&config.Config{}, "job", c.is, "server")
		if !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%q, now %q: note %q, want %q", c.was, c.is, note, c.note)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q, now %q: error %v, want %q", c.was, c.is, err, c.err)
		}
	}
}
