// Command studio measures trinity studio on a generated folder of 100,000 rollouts and 10,000 steps: how long a person
// waits for the first table, for filters and searches and for curves, and how much memory the studio takes.
//
// Needs: 2 GB of disk
// Takes: five minutes
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

func main() {
	dir := flag.String("dir", "bin/bench-studio", "the folder, which is made if it is not there")
	keep := flag.Bool("keep", false, "keep the index of an earlier run")
	pairs := flag.Int("beside", 0, "instead, train so many pairs of jobs with and without a studio open")
	steps := flag.Int("steps", 10, "how many steps those jobs train")
	config := flag.String("config", "examples/tiny/gsm8k.yaml", "the configuration of those jobs")
	program.Main("studio", func(p program.Program) error {
		folder, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		if *pairs > 0 {
			return beside(p, folder+"-beside", *config, *pairs, *steps)
		}
		return run(p, folder, *keep)
	})
}

func run(p program.Program, dir string, keep bool) error {
	job := filepath.Join(dir, "big")
	if _, err := os.Stat(job); err != nil {
		fmt.Println("generating", job)
		s := size{steps: 500, groups: 25, repeat: 8, tokens: 420, lines: 10000, metrics: 80}
		if err := generate(job, s); err != nil {
			return err
		}
	}
	if !keep {
		if err := os.RemoveAll(filepath.Join(job, ".studio")); err != nil {
			return err
		}
	}
	bytes := du(job)
	fmt.Printf("100000 rollouts, 10000 steps of 84 metrics, %.2f GB; %d processors\n", float64(bytes)/1e9,
		runtime.NumCPU())
	s, err := start(p, dir)
	if err != nil {
		return err
	}
	if !keep {
		if err := s.unindexed(); err != nil {
			return err
		}
	}
	s.stop()
	if s, err = start(p, dir); err != nil {
		return err
	}
	defer s.stop()
	return s.measure()
}

func du(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if st, err := d.Info(); err == nil {
				n += st.Size()
			}
		}
		return nil
	})
	return n
}

// server is a running studio.
type server struct {
	*program.Process
	url, run string
}

// open starts a studio.
func open(p program.Program, dir string) (*server, error) {
	process, err := program.Start(p.Command("studio", dir, "--addr", "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	address, err := process.Await(regexp.MustCompile(`http://\S+/`))
	if err != nil {
		return nil, err
	}
	return &server{Process: process, url: address[0]}, nil
}

// start starts a studio and waits for its run.
func start(p program.Program, dir string) (*server, error) {
	begun := time.Now()
	s, err := open(p, dir)
	if err != nil {
		return nil, err
	}
	for s.run == "" {
		var list struct{ Runs []struct{ ID string } }
		if _, err := s.get("api/runs", &list); err != nil {
			return nil, err
		}
		if len(list.Runs) > 0 {
			s.run = list.Runs[0].ID
		}
	}
	report("from the start of the program to the list of runs", time.Since(begun))
	return s, nil
}

func (s *server) stop() {
	s.Kill()
	s.Wait() // it was killed
}

func report(what string, took time.Duration) { fmt.Printf("%8.3f s  %s\n", took.Seconds(), what) }

// cpu is the processor time so far.
func (s *server) cpu() time.Duration {
	t, err := s.CPU()
	if err != nil {
		return 0 // not Linux
	}
	return t
}

// get asks for a path and says how long the answer took.
func (s *server) get(path string, into any) (time.Duration, error) {
	begun := time.Now()
	res, err := http.Get(s.url + path)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	took := time.Since(begun)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, res.Status, data)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return took, err
}

// unindexed measures a folder without an index.
func (s *server) unindexed() error {
	var steps struct {
		Steps   []struct{ Indexed bool }
		Indexed float64
	}
	took, err := s.get("api/runs/"+s.run+"/steps", &steps)
	if err != nil {
		return err
	}
	report(fmt.Sprintf("without an index: the list of %d step files, %.0f %% of them indexed", len(steps.Steps),
		100*steps.Indexed), took)
	begun := time.Now().Add(-took)
	for steps.Indexed < 1 {
		time.Sleep(50 * time.Millisecond)
		if _, err := s.get("api/runs/"+s.run+"/steps", &steps); err != nil {
			return err
		}
	}
	report("without an index: all is indexed", time.Since(begun))
	time.Sleep(time.Second) // the index is written
	s.memory()
	return nil
}

// page is an answer of samples.
type page struct {
	Samples []struct{ ID string }
	Total   *int
	Cursor  *string
	Scanned int
	Of      int
}

func (s *server) measure() error {
	first := time.Now()
	for _, q := range []struct{ what, query string }{
		{"indexed: the first table of 100 rows, cold start of the studio", "limit=100"},
		{"the table of one step", "step=250&limit=100"},
		{"sorted by reward, downwards", "sort=-reward&limit=100"},
		{"filtered by reward, stop reason and signal", "reward_min=1&stop=length&signal=1&limit=100"},
		{"the page at row 60,000", "offset=60000&limit=100"},
		{"a text that one answer has, first look", "q=needle-in-the-haystack&limit=50"},
		{"a text that one answer has, again", "q=needle-in-the-haystack&limit=50"},
		{"filtered by reward and stop reason, a text that no answer has",
			"reward_min=1&stop=length&q=stack-of-hay&limit=50"},
		{"a text that many answers have", "q=seven+left&limit=50"},
		{"a text of frequent letters that no answer has", "q=treat+on+that&limit=50"},
		{"a text with capitals that no answer has", "q=Needle+In&limit=50"},
		{"a text with other letters that no answer has", "q=gr%C3%B6%C3%9Fer&limit=50"},
		{"the answer in its tags, all of them", "q=%3Canswer%3E504%3C%2Fanswer%3E&limit=1000"},
		{"a regular expression, first 50 hits", "regex=boxes.*monday.*%3Canswer%3E3&limit=50"},
		{"a regular expression that one answer has, first part", "regex=n%5Ba-z%5Ddle-in-.*stack&limit=50"},
		{"the same where capitals do not matter", "regex=(%3Fi)N%5BA-Z%5DDLE-IN-.*STACK&limit=50"},
		{"a regular expression without any fixed text, first 50 hits",
			"regex=%5Bmt%5Do%5Bnw%5D..y+%5Cw%2B+%5Cw%2B+s%5Ba-f%5D&limit=50"},
	} {
		var p page
		begun := s.cpu()
		took, err := s.get("api/runs/"+s.run+"/samples?"+q.query, &p)
		if err != nil {
			return err
		}
		if strings.HasPrefix(q.what, "indexed") {
			took = time.Since(first)
		}
		report(fmt.Sprintf("%s: %d rows, %d of %d looked at; %.2f s of processor time", q.what, len(p.Samples),
			p.Scanned, p.Of, (s.cpu()-begun).Seconds()), took)
		if err := s.rest(q.what, q.query, p); err != nil {
			return err
		}
	}
	return s.views()
}

// rest follows the cursor of a search to its end.
func (s *server) rest(what, query string, p page) error {
	if !strings.Contains(query, "stack") || p.Cursor == nil {
		return nil
	}
	begun, cpu, n := time.Now(), s.cpu(), len(p.Samples)
	for p.Cursor != nil {
		next := p.Cursor
		p = page{}
		if _, err := s.get("api/runs/"+s.run+"/samples?"+query+"&cursor="+url.QueryEscape(*next), &p); err != nil {
			return err
		}
		n += len(p.Samples)
	}
	report(fmt.Sprintf("  and the rest of it: %d rows in all; %.2f s of processor time", n, (s.cpu()-cpu).Seconds()),
		time.Since(begun))
	return nil
}

func (s *server) views() error {
	var any map[string]any
	for _, q := range []struct{ what, path string }{
		{"a run's view, with 84 metrics and its health", ""},
		{"a curve of 10,000 steps, first look", "/metrics?name=critic/rewards/mean&points=2000"},
		{"20 curves of 10,000 steps", "/metrics?points=2000" + strings.Repeat("&name=group1/metric_9", 20)},
		{"the list of 500 steps", "/steps"},
		{"a histogram of 100,000 rewards", "/histogram"},
		{"a group of 8", "/groups/250/3"},
		{"a sample with its tokens", "/samples/step_000250.25"},
	} {
		took, err := s.get("api/runs/"+s.run+q.path, &any)
		if err != nil {
			return err
		}
		report(q.what, took)
	}
	s.memory()
	return nil
}

// memory prints the most that the studio had.
func (s *server) memory() {
	if n, err := s.Peak(); err == nil {
		fmt.Printf("           memory at most: %d kB\n", n)
	}
}
