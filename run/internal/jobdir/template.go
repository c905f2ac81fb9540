package jobdir

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// templateFile is the job's chat template, whichever the configuration chose.
const templateFile = "chat_template.jinja"

// KeepTemplate notes the chat template, for chats with the result.
func (d Dir) KeepTemplate(text string) error { return d.keep(templateFile, []byte(text)) }

// Template returns the chat template of the job that path, a job directory or a folder in it, belongs to, and the date
// that templates are told there; "" if path belongs to no job that has noted one.
func Template(path string) (text string, date time.Time, err error) {
	at, err := enclosing(path, templateFile) // older jobs and those of trinity gem have none
	if at == "" || err != nil {
		return "", date, err
	}
	template, err := os.ReadFile(filepath.Join(at, templateFile))
	if err != nil {
		return "", date, fmt.Errorf("run: %w", err)
	}
	var id Identity
	if err := disk.ReadJSON(filepath.Join(at, identityFile), &id); err != nil {
		return "", date, fmt.Errorf("run: %s: %w", filepath.Join(at, identityFile), err)
	}
	return string(template), id.Date, nil
}

// enclosing returns the job directory that has a file of that name and is path, or that path is in; "" if there is
// none.
func enclosing(path, name string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(at, name))
		return err == nil
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		if has(name) && has(identityFile) {
			return at, nil
		}
	}
	return "", nil
}
