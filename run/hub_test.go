package run

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
)

// Ctrl-C ends a download, and the run with it; the next start continues.
func TestStopEndsDownload(t *testing.T) {
	t.Parallel()
	s := hubtest.New(t, map[string]hubtest.Repo{"models/meta-llama/Llama-3.2-3B": hubtest.TinyLlama()})
	stop, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Spoil = func(_ http.ResponseWriter, _ *http.Request, name string, _ []byte) bool {
		if name == "model.safetensors" {
			once.Do(func() { close(stop) })
			<-release // a slow server
		}
		return false
	}
	cfg, err := config.Load(filepath.Join("testdata", "guide", "verl.yaml"),
		[]string{"checkpoint_root_dir=" + t.TempDir()}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(hub.Options{Cache: t.TempDir(), Endpoint: s.URL, Pause: time.Millisecond})
	if _, err = Run(context.Background(), cfg, Options{Stop: stop, Hub: h}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("stopped: %v, want %v", err, ErrInterrupted)
	}
	close(release)
	find := modelname.Finder{Find: func(p string) string { return p }, Hub: h}
	if _, err := find.Folder(t.Context(), cfg.Model.ModelPath); err != nil {
		t.Errorf("the next start: %v", err)
	}
}
