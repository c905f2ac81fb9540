package run

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// JobTemplate returns the chat template of the job that path, a job directory or a folder in it, belongs to, and the
// date that templates are told there; "" if path belongs to no job that has noted one.
func JobTemplate(path string) (text string, date time.Time, err error) { return jobdir.Template(path) }

// JobNotes are a job's notes of its model: where it is, and how the job asks it.
type JobNotes = jobdir.Notes

// ReadJobNotes returns the notes of the job that path, a job directory or something in it, belongs to; nil if path
// belongs to no job that has them.
func ReadJobNotes(path string) (*JobNotes, error) { return jobdir.ReadNotes(path) }
