package run

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// JobTemplate returns the chat template of the job that path, a job directory or a folder in it, belongs to, and the
// date that templates are told there; "" if path belongs to no job that has noted one.
func JobTemplate(path string) (text string, date time.Time, err error) { return jobdir.Template(path) }

// JobNotes is what a job notes of its model: where it is, and how the job asks it.
type JobNotes struct {
	Model       string // as the configuration names it
	Path        string // its folder or GGUF file; "" for a name on the hub or in Ollama's store
	System      string // the system prompt; "": none
	Temperature float64
	TopP        float64
	TopK        int   // -1: all tokens
	Thinking    *bool // the template's enable_thinking; nil: as the template has it
}

// ReadJobNotes returns the notes of the job that path, a job directory or something in it, belongs to; nil if path
// belongs to no job that has them.
func ReadJobNotes(path string) (*JobNotes, error) {
	n, err := jobdir.ReadNotes(path)
	return (*JobNotes)(n), err
}

// Find returns where the model of that name is: at the noted place if it is still there, else the name itself. n may be
// nil.
func (n *JobNotes) Find(name string) string { return (*jobdir.Notes)(n).Find(name) }
