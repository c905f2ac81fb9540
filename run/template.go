package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// templateFile is the job's chat template, whichever the configuration chose.
const templateFile = "chat_template.jinja"

// keepTemplate notes the chat template in the job directory, for whoever talks to what the job trains.
func (b *job) keepTemplate(text string) error {
	if b.aside() {
		return nil // the trainer beside it does
	}
	path := filepath.Join(b.dir, templateFile)
	if was, err := os.ReadFile(path); err == nil && string(was) == text {
		return nil
	}
	if err := disk.WriteFile(b.fs, path, []byte(text)); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// JobTemplate returns the chat template of the job that path, a job directory or a folder in it, belongs to, and the
// date that templates are told there; "" if path belongs to no job that has noted one.
func JobTemplate(path string) (text string, date time.Time, err error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", date, fmt.Errorf("run: %w", err)
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		template, err := os.ReadFile(filepath.Join(at, templateFile))
		if err != nil { // no job, or one of an older version or of trinity gem
			continue
		}
		data, err := os.ReadFile(filepath.Join(at, "run.json"))
		if err != nil {
			continue
		}
		var id jobdir.Identity
		if err := json.Unmarshal(data, &id); err != nil {
			return "", date, fmt.Errorf("run: %s: %w", filepath.Join(at, "run.json"), err)
		}
		return string(template), id.Date, nil
	}
	return "", date, nil
}
