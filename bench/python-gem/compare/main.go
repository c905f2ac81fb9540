// Command compare plays episodes of GEM's own loop in the host, many side by side in two processes, and prints for each
// id how many have the same observations, rewards and flags:
//
//	compare PYTHON EPISODES ROWS
//
// PYTHON has gem-llm, EPISODES is what loop.py wrote, ROWS the folder of rows that it was given.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/pythonenv"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
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

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: compare PYTHON EPISODES ROWS")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, executable, file, rows string) error {
	dir, err := filepath.Abs("bench/python-gem")
	if err != nil {
		return err
	}
	h, err := python.Open(ctx, python.Options{Executable: executable, Processes: 2, Dirs: []string{dir},
		Imports: []string{pythonenv.Module, "patient"}})
	if err != nil {
		return err
	}
	defer h.Close()
	s := pythonenv.New(ctx, h, pythonenv.Options{Timeout: time.Hour}) // as long as GEM's own loop waits
	defer s.Close()
	empty, err := env.NewRegistry()
	if err != nil {
		return err
	}
	registry := empty.With(pythonenv.Prefix, s.Spec)
	all, err := readEpisodes(file)
	if err != nil {
		return err
	}
	for _, list := range all {
		compare(registry, rows, list)
	}
	return nil
}

// readEpisodes reads the episodes, one list for each id.
func readEpisodes(file string) (all [][]gemEpisode, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e gemEpisode
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1][0].Env != e.Env {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], e)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		return nil, fmt.Errorf("no episodes in %s: %v", file, err)
	}
	return all, nil
}

// compare plays the episodes of an id, sixteen at a time, and prints what came of them.
func compare(registry *env.Registry, rows string, list []gemEpisode) {
	id := list[0].Env
	name := pythonenv.Prefix + "gem:" + id
	if list[0].Rows != "" {
		name += "?dataset=" + url.QueryEscape(filepath.Join(rows, list[0].Rows+".jsonl"))
	}
	if list[0].Unplayable != "" {
		if _, err := registry.Make(name, nil); err == nil {
			fmt.Printf("%s: GEM fails with %s, the host does not\n", id, list[0].Unplayable)
			return
		}
		fmt.Printf("%-36s cannot be made by GEM: %.100s\n", id, list[0].Unplayable)
		return
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
				fmt.Printf("%s, seed %d: %v\n", id, want.Seed, err)
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
	fmt.Printf("%-36s %d of %d episodes equal, %d steps, %d episodes fail in both\n", id, good, len(list), steps,
		failed)
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
