package python_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	environments "github.com/seed-d9ad8ee0/trinity/rl/env/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

var (
	gemPython = flag.String("gem.python", "", "a Python with gem-llm; plays the episodes of -gem.episodes in the host")
	gemFile   = flag.String("gem.episodes", "", "episodes of GEM's own loop, written by testdata/loop.py")
	gemRows   = flag.String("gem.rows", "", "the folder of rows that the loop was given")
)

// gemEpisode is an episode of GEM's own loop.
type gemEpisode struct {
	Env        string
	Rows       string // math, qa or code, if it takes some
	Seed       uint64
	First      string
	Unplayable string // why GEM cannot make it
	Steps      []struct {
		Action, Said, Raises  string
		Reward                float64
		Terminated, Truncated bool
	}
}

// TestGEM plays the episodes of GEM's own loop in the host, many side by side in two processes: every observation,
// reward and flag is the same.
func TestGEM(t *testing.T) {
	if *gemPython == "" {
		t.Skip("needs GEM: make python-gem")
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	h, err := python.Open(t.Context(), python.Options{Executable: *gemPython, Processes: 2, Dirs: []string{dir},
		Imports: []string{environments.Module, "patient"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := environments.New(t.Context(), h, environments.Options{Timeout: time.Hour}) // as long as GEM's own loop waits
	defer s.Close()
	empty, err := env.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	registry := empty.With(environments.Prefix, s.Spec)
	ids, equal := 0, 0
	for _, list := range readEpisodes(t) {
		if compare(t, registry, list) {
			equal++
		}
		ids++
	}
	t.Logf("%d of %d ids are equal", equal, ids)
}

// readEpisodes reads the episodes, one list for each id.
func readEpisodes(t *testing.T) (all [][]gemEpisode) {
	f, err := os.Open(*gemFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e gemEpisode
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 || all[len(all)-1][0].Env != e.Env {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], e)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("no episodes in %s: %v", *gemFile, err)
	}
	return all
}

// compare plays the episodes of an id, sixteen at a time.
func compare(t *testing.T, registry *env.Registry, list []gemEpisode) bool {
	id := list[0].Env
	name := environments.Prefix + "gem:" + id
	if list[0].Rows != "" {
		name += "?dataset=" + url.QueryEscape(filepath.Join(*gemRows, list[0].Rows+".jsonl"))
	}
	if list[0].Unplayable != "" {
		_, err := registry.Make(name, nil)
		if err == nil {
			t.Errorf("%s: GEM fails with %s, the host does not", id, list[0].Unplayable)
		}
		t.Logf("%-36s cannot be made by GEM: %.100s", id, list[0].Unplayable)
		return err != nil
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, 16)
	good, steps, failed := 0, 0, 0
	for _, want := range list {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			raised, err := sameEpisode(registry, name, want)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%s, seed %d: %v", id, want.Seed, err)
				return
			}
			good++
			steps += len(want.Steps)
			if raised {
				failed++
			}
		})
	}
	wg.Wait()
	t.Logf("%-36s %d of %d episodes equal, %d steps, %d episodes fail in both", id, good, len(list), steps, failed)
	return good == len(list)
}

func sameEpisode(registry *env.Registry, name string, want gemEpisode) (raised bool, err error) {
	e, err := registry.Make(name, nil)
	if err != nil {
		return false, err
	}
	first, err := e.Reset(want.Seed)
	if err != nil {
		return false, err
	}
	if got := seen(first); got != want.First {
		return false, errors.New("another beginning: " + first.Text)
	}
	for i, w := range want.Steps {
		s, err := e.Step(w.Action)
		var thrown *python.Error
		if w.Raises != "" && errors.As(err, &thrown) && thrown.Type == w.Raises {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if w.Raises != "" || seen(s.Observation) != w.Said || s.Reward != w.Reward || s.Terminated != w.Terminated ||
			s.Truncated != w.Truncated || s.Done() != (i == len(want.Steps)-1) {
			return false, &different{i, s, w.Reward}
		}
	}
	return false, nil
}

// different is a step that is not GEM's.
type different struct {
	step int
	got  env.Transition
	want float64
}

func (d *different) Error() string {
	b, _ := json.Marshal(d.got)
	w, _ := json.Marshal(d.want)
	return fmt.Sprintf("step %d is another: ", d.step+1) + string(b) + ", GEM's reward is " + string(w)
}

// seen is the digest of loop.py.
func seen(o env.Observation) string {
	h := sha256.Sum256([]byte(o.Text + "\x00" + o.Prefix + "\x00" + o.Suffix))
	return hex.EncodeToString(h[:])[:16]
}
