package speaker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio"
)

// A run's model is asked with the run's chat template, and without any as long as no message is to be rendered.
func TestAskWithTemplate(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model")
	if err := os.CopyFS(model, os.DirFS("../../examples/tiny/model")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"job/run.json": "{}", "model/tokenizer_config.json": "{}",
		"job/chat_template.jinja": "{% for m in messages %}<{{ m.content }}>{% endfor %}"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	a := NewAsker(Options{Threads: 1, Find: func(path string) string { return path },
		Folder: func(name string) (string, error) { return name, nil }})
	defer a.Close()
	q := studio.Question{Messages: []rollout.Message{{Role: "user", Content: "Hi"}}}
	for job, want := range map[string]string{filepath.Join(dir, "job"): "<Hi>", dir: ""} {
		s, err := a.open(t.Context(), studio.Weights{Job: job, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := promptOf(s, q)
		if got := s.Tokenizer.Decode(ids, false); got != want || (err == nil) != (want != "") {
			t.Errorf("the prompt is %q, %v, want %q", got, err, want)
		}
		if _, err := promptOf(s, studio.Question{Tokens: []int32{1}}); err != nil {
			t.Error(err)
		}
	}
}
