package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

// hub is the Hugging Face hub as the environment configures it: HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_ENDPOINT,
// HF_TOKEN.
func (s *surroundings) hub() *hub.Hub { return hub.New(s.hubOptions()) }

// model returns the folder of a model by its name.
func (s *surroundings) model(name string) (string, error) {
	m, err := s.finder().Model(s.ctx, name)
	return m.Dir, err
}

// finder finds models by their names.
func (s *surroundings) finder() modelname.Finder {
	return modelname.Finder{Find: s.find, Hub: s.hub(), Cache: s.cacheDir, Ollama: s.ollama(),
		Note: func(text string) { fmt.Fprintln(s.err, foreign.Text(text)) }}
}

// ollama lists the places where Ollama may store models: OLLAMA_MODELS, the user's folder, the folder of the Linux
// service, and the folders of distributions' packages.
func (s *surroundings) ollama() (roots []string) {
	if dir, ok := s.env("OLLAMA_MODELS"); ok && dir != "" {
		roots = append(roots, dir)
	}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, ".ollama", "models"))
	}
	return append(roots, "/usr/share/ollama/.ollama/models", "/var/lib/ollama/.ollama/models", "/var/lib/ollama")
}

// cachedHub is the hub's cache alone: nothing is downloaded.
func (s *surroundings) cachedHub() *hub.Hub {
	o := s.hubOptions()
	o.Offline = true
	return hub.New(o)
}

func (s *surroundings) hubOptions() hub.Options {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	o := hub.FromEnv(s.env, home)
	o.Check = engine.CheckConfig
	bar := &downloadBar{s: s}
	o.Progress = bar.show
	return o
}

// downloadBar shows the progress of a download: on a terminal one line that is updated, else one line at the start.
type downloadBar struct {
	s *surroundings

	mu    sync.Mutex
	name  string
	begin time.Time
	last  time.Time
	had   int64 // bytes at the start
}

func (b *downloadBar) show(p hub.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.name != p.Name {
		b.name, b.begin, b.last, b.had = p.Name, now, time.Time{}, p.Done
		if !b.s.terminal {
			fmt.Fprintf(b.s.err, "downloading %s: %d files, %s\n", p.Name, p.Files, budget.Size(p.Bytes))
		}
	}
	done := p.Done == p.Bytes
	if !b.s.terminal || !done && now.Sub(b.last) < 200*time.Millisecond {
		return
	}
	b.last = now
	rate := float64(p.Done-b.had) / max(now.Sub(b.begin).Seconds(), 1e-3)
	left := ""
	if rate > 0 && !done {
		remaining := time.Duration(float64(p.Bytes-p.Done) / rate * float64(time.Second))
		left = ", " + remaining.Round(time.Second).String() + " left"
	}
	const bar = "=============================="
	filled := int(int64(len(bar)) * p.Done / max(p.Bytes, 1))
	fmt.Fprintf(b.s.err, "\r\x1b[K%s [%-*s] %s of %s, %s/s%s", p.Name, len(bar), bar[:min(max(filled, 0), len(bar))],
		budget.Size(p.Done), budget.Size(p.Bytes), budget.Size(int64(rate)), left)
	if done {
		fmt.Fprintln(b.s.err)
	}
}
