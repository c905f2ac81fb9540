package console

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Warnings that quote others forge no lines, on the terminal and in run.log.
func TestForgedLines(t *testing.T) {
	var out bytes.Buffer
	p, err := Open(Options{Out: &out, Now: time.Now, Dir: t.TempDir(), Level: "info"})
	if err != nil {
		t.Fatal(err)
	}
	p.Warn("task 3 failed: \x1b[2Jboom\nstep 9  reward 1.000")
	p.Say("note: " + strings.Repeat("x", 1<<20))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "warning: task 3 failed: \\x1b[2Jboom\n  step 9  reward 1.000\n") || len(got) > 20<<10 {
		t.Errorf("%d bytes on the terminal: %.200q", len(got), got)
	}
	log, err := os.ReadFile(filepath.Join(p.Dir, "log", "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if !strings.HasPrefix(line, "WARNING ") && !strings.HasPrefix(line, "INFO ") || strings.Contains(line, "\x1b") {
			t.Errorf("run.log has the line %.100q", line)
		}
	}
}
