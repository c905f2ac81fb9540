package trainer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
)

// On a service that lost the model a run continues after the last saved step, as if nothing had come after it.
func TestBack(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       State
	}{
		{"never saved", `{"latest_iteration": 7, "next_seq_id": 20, "model_id": "m", "sample_strategy_state": ` +
			`{"step": 8, "count": 0}}`, State{NextSeqID: 1}},
		{"saved before", `{"latest_iteration": 7, "latest_saved": 5, "next_seq_id": 20, "saving": 19, "model_id": "m",
			"sample_strategy_state": {"step": 8, "count": 3}, "saved_position": {"step": 6, "count": 2}}`,
			State{Step: 5, Saved: 5, NextSeqID: 1, Position: buffer.Position{Step: 6, Count: 2},
				SavedPosition: buffer.Position{Step: 6, Count: 2}}},
		{"just saved", `{"latest_iteration": 5, "latest_saved": 5, "next_seq_id": 20, "model_id": "m",
			"sample_strategy_state": {"step": 6, "count": 0}, "saved_position": {"step": 6, "count": 0}}`,
			State{Step: 5, Saved: 5, NextSeqID: 1, Position: buffer.Position{Step: 6, Count: 0},
				SavedPosition: buffer.Position{Step: 6, Count: 0}}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "trainer_meta.json"), []byte(tt.file), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ReadState(dir, "trainer")
		if err != nil || s.Back() != tt.want || s.Back().Back() != tt.want {
			t.Errorf("%s: back to %+v, %v; want %+v", tt.name, s.Back(), err, tt.want)
		}
		again, err := json.Marshal(s)
		var same State
		if err != nil || json.Unmarshal(again, &same) != nil || same != s {
			t.Errorf("%s: written and read again it is %+v, was %+v", tt.name, same, s)
		}
	}
}
