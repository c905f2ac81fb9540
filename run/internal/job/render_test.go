package job

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// Answers over OpenAI's interface end at each token that the model's folder names, as the engine's own do.
func TestTextEnds(t *testing.T) {
	const dir = "../../../examples/tiny/model"
	m, err := LoadModel("tiny", dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.UseOwnTemplate(time.Time{}); err != nil {
		t.Fatal(err)
	}
	text, err := m.Text()
	if err != nil {
		t.Fatal(err)
	}
	want, err := engine.FolderEnds(dir)
	if err != nil || len(want) < 2 {
		t.Fatal(want, err)
	}
	for _, id := range want {
		if !slices.Contains(text.Ends, id) {
			t.Errorf("token %d ends no answer; those that do are %v", id, text.Ends)
		}
	}
}
