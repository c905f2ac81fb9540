package jobdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A model is of a job only where the job has noted its template: a run.json of something else further up is none of its
// business.
func TestTemplate(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "job", "global_step_4")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, text string, date time.Time) {
		t.Helper()
		if got, at, err := Template(deep); err != nil || got != text || !at.Equal(date) {
			t.Errorf("%s: %q of %v, %v; want %q of %v", what, got, at, err, text, date)
		}
	}
	want("no job", "", time.Time{})
	write("run.json", "{}{} of another program")
	want("a file of another program", "", time.Time{})
	write("job/run.json", `{"seed": 1, "date": "2026-01-02T00:00:00Z"}`)
	want("a job without a template", "", time.Time{})
	write("job/"+templateFile, "{{ messages }}")
	want("a job", "{{ messages }}", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	write("job/run.json", "{")
	if _, _, err := Template(deep); err == nil {
		t.Error("a job whose run.json is cut off has a date")
	}
}
