package jobdir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// templateFile is the job's chat template, whichever the configuration chose.
const templateFile = "chat_template.jinja"

// KeepTemplate notes the chat template, for chats with the result.
func (d Dir) KeepTemplate(text string) error { return d.keep(templateFile, []byte(text)) }

// Template returns the chat template of the job that path, a job directory or a folder in it, belongs to, and the date
// that templates are told there; "" if path belongs to no job that has noted one.
func Template(path string) (text string, date time.Time, err error) {
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
		var id Identity
		if err := json.Unmarshal(data, &id); err != nil {
			return "", date, fmt.Errorf("run: %s: %w", filepath.Join(at, "run.json"), err)
		}
		return string(template), id.Date, nil
	}
	return "", date, nil
}
