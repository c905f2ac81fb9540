package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// beside trains the same job in turns alone and with a studio open beside it, with a client that listens to its events
// and asks for the newest step each time. It compares the metrics, which must be equal but for times, and the times.
func beside(p program.Program, dir, config string, pairs, steps int) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var first []monitor.Line
	seconds, cpus := map[bool][]float64{}, map[bool][]float64{}
	for i := range pairs {
		for _, with := range []bool{i%2 == 1, i%2 == 0} { // each order as often
			t, err := train(p, filepath.Join(dir, fmt.Sprint(i, with)), config, steps, with)
			if err != nil {
				return err
			}
			if first == nil {
				first = t.metrics
			}
			if d := program.DifferentMetrics(first, t.metrics); d != "" {
				return fmt.Errorf("metrics differ between runs with and without a studio: %s", d)
			}
			seconds[with], cpus[with] = append(seconds[with], t.step), append(cpus[with], t.cpu)
			fmt.Printf("pair %d, studio %-5v  %.2f s a step, %.2f s of processor time, %d questions\n", i+1, with,
				t.step, t.cpu, t.asked)
		}
	}
	fmt.Printf("metrics of %d runs are equal to the last bit, but for times\n", 2*pairs)
	step, with := median(seconds[false]), median(seconds[true])
	cpu, cpuWith := median(cpus[false]), median(cpus[true])
	fmt.Printf("medians: %.3f s a step alone, %.3f s with a studio (%+.1f %%); processor time of the run %.2f s and "+
		"%.2f s (%+.1f %%)\n", step, with, 100*(with/step-1), cpu, cpuWith, 100*(cpuWith/cpu-1))
	return nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// turn is one training.
type turn struct {
	step, cpu float64 // seconds: the median of the steps, and processor time of the whole run
	asked     int
	metrics   []monitor.Line // without times
}

func train(p program.Program, dir, config string, steps int, with bool) (t turn, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return t, err
	}
	asked := make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if with {
		s, err := open(p, dir)
		if err != nil {
			return t, err
		}
		defer s.stop()
		go func() { asked <- s.follow(ctx) }()
	}
	c := p.Command("run", "--config", config, fmt.Sprint("buffer.total_steps=", steps),
		"explorer.eval_on_startup=false", "explorer.eval_interval=1000", "checkpoint_root_dir="+dir, "name=job")
	c.Dir = "" // the repository
	if out, err := c.CombinedOutput(); err != nil {
		return t, fmt.Errorf("%w: %s", err, out)
	}
	stop()
	if with {
		t.asked = <-asked
	}
	t.cpu = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	names, err := filepath.Glob(filepath.Join(dir, "*", "job", "metrics.jsonl"))
	if err != nil || len(names) != 1 {
		return t, fmt.Errorf("the run wrote %d logs of metrics, want 1: %v", len(names), err)
	}
	return t, t.read(names[0])
}

// read reads a run's metrics.
func (t *turn) read(path string) error {
	lines, err := monitor.ReadLog(path)
	if err != nil {
		return err
	}
	var steps []float64
	for _, l := range lines {
		if v, ok := l.Metrics["time/step"]; ok {
			steps = append(steps, v)
		}
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s has no steps", path)
	}
	t.step = median(steps)
	t.metrics, err = program.Metrics(path)
	return err
}

// follow listens to events and asks, as the pages do, for what changed. It returns how often it asked.
func (s *server) follow(ctx context.Context) (asked int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"api/events", nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	for events := bufio.NewScanner(res.Body); events.Scan(); {
		var e struct {
			Type, Run string
			Step      int
		}
		text, ok := strings.CutPrefix(events.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(text), &e) != nil || e.Type != "run" {
			continue
		}
		var into any
		for _, path := range []string{"api/runs", "api/runs/" + e.Run, "api/runs/" + e.Run + "/steps",
			"api/runs/" + e.Run + fmt.Sprintf("/samples?step=%d", e.Step),
			"api/runs/" + e.Run + "/metrics?name=critic/rewards/mean&name=actor/entropy&name=grad_norm"} {
			if _, err := s.get(path, &into); err == nil {
				asked++
			}
		}
	}
	return asked
}
