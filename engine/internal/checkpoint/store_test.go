package checkpoint

import (
	"log/slog"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A checkpoint that is saved again and again, as a restarted job does, is always there for those who list or read it.
func TestReplacedCheckpointIsThere(t *testing.T) {
	s, err := New(t.TempDir(), disk.OS(), time.Now, false)
	if err != nil {
		t.Fatal(err)
	}
	p := tinker.Path{ModelID: "s:train:0", Kind: tinker.KindState, Name: "end"}
	save := func() error {
		return s.Write(p, Manifest{Format: Format, ModelID: p.ModelID}, []File{JSONFile("some.json", 1)})
	}
	if err := save(); err != nil {
		t.Fatal(err)
	}
	saved := make(chan error, 1)
	go func() {
		for range 60 {
			if err := save(); err != nil {
				saved <- err
				return
			}
		}
		saved <- nil
	}()
	for {
		list, err := s.List(slog.New(slog.DiscardHandler))
		if err != nil || len(list) != 1 {
			t.Fatalf("%d checkpoints are listed, error %v; want 1", len(list), err)
		}
		if _, err := s.Describe(p.String()); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := s.Read(p.String()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-saved:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
