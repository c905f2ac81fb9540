package job

import (
	"fmt"
	"io"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// Notes tell the user what building the parts comes across, each thing once.
type Notes struct {
	out  io.Writer
	list []string
}

// NewNotes returns notes that are printed to out.
func NewNotes(out io.Writer) *Notes { return &Notes{out: out} }

// Add notes a text.
func (n *Notes) Add(text string) {
	if !slices.Contains(n.list, text) {
		n.list = append(n.list, text)
		fmt.Fprintln(n.out, "note:", foreign.Text(text))
	}
}

// List returns what was noted.
func (n *Notes) List() []string { return n.list }
