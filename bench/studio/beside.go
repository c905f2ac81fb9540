package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// beside trains the same job in turns alone and with a studio open beside it, with a client that listens to its events
// and asks for the newest step each time. It compares the metrics, which must be equal but for times, and the times.
func beside(binary, dir, config string, pairs, steps int) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var alone, open []turn
	for i := range pairs {
		for _, with := range []bool{i%2 == 1, i%2 == 0} { // each order as often
			t, err := train(binary, filepath.Join(dir, fmt.Sprint(i, with)), config, steps, with)
			if err != nil {
				return err
			}
			if with {
				open = append(open, t)
			} else {
				alone = append(alone, t)
			}
			fmt.Printf("pair %d, studio %-5v  %.2f s a step, %.2f s of processor time, %d questions\n", i+1, with,
				t.step, t.cpu, t.asked)
		}
	}
	for i := range pairs {
		for _, t := range []turn{alone[i], open[i]} {
			if !reflect.DeepEqual(t.metrics, alone[0].metrics) {
				return errors.New("metrics differ between runs with and without a studio")
			}
		}
	}
	fmt.Printf("metrics of %d runs are equal to the last bit, but for times\n", 2*pairs)
	a, b := medians(alone), medians(open)
	fmt.Printf("medians: %.3f s a step alone, %.3f s with a studio (%+.1f %%); processor time of the run %.2f s and "+
		"%.2f s (%+.1f %%)\n", a.step, b.step, 100*(b.step/a.step-1), a.cpu, b.cpu, 100*(b.cpu/a.cpu-1))
	return nil
}

// turn is one training.
type turn struct {
	step, cpu float64 // seconds: the median of the steps, and processor time of the whole run
	asked     int
	metrics   []map[string]any
}

func medians(turns []turn) turn {
	var m turn
	steps, cpus := []float64{}, []float64{}
	for _, t := range turns {
		steps, cpus = append(steps, t.step), append(cpus, t.cpu)
	}
	slices.Sort(steps)
	slices.Sort(cpus)
	m.step, m.cpu = steps[len(steps)/2], cpus[len(cpus)/2]
	return m
}

func train(binary, dir, config string, steps int, with bool) (t turn, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return t, err
	}
	asked := make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if with {
		s := &server{cmd: exec.Command(binary, "studio", dir, "--addr", "127.0.0.1:0")}
		out, err := s.cmd.StdoutPipe()
		if err == nil {
			err = s.cmd.Start()
		}
		if err != nil {
			return t, err
		}
		defer s.stop()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return t, err
		}
		s.url = address.FindString(line)
		go func() { asked <- s.follow(ctx) }()
	}
	c := exec.Command(binary, "run", "--config", config,
		fmt.Sprint("buffer.total_steps=", steps), "explorer.eval_on_startup=false",
		"explorer.eval_interval=1000", "checkpoint_root_dir="+dir, "name=job")
	if out, err := c.CombinedOutput(); err != nil {
		return t, fmt.Errorf("%w: %s", err, out)
	}
	stop()
	if with {
		t.asked = <-asked
	}
	t.cpu = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	names, err := filepath.Glob(filepath.Join(dir, "*", "job", "metrics.jsonl"))
	if err != nil {
		return t, err
	}
	if len(names) != 1 {
		return t, fmt.Errorf("the run wrote %d logs of metrics, want 1", len(names))
	}
	return t, t.read(names[0])
}

// read keeps what does not depend on time.
func (t *turn) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var steps []float64
	for line := range strings.Lines(string(data)) {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return err
		}
		if v, ok := m["time/step"].(float64); ok {
			steps = append(steps, v)
		}
		for name := range m {
			timed := strings.Contains(name, "time") || strings.Contains(name, "timing")
			if timed || strings.Contains(name, "per_second") || strings.HasPrefix(name, "perf/") {
				delete(m, name)
			}
		}
		t.metrics = append(t.metrics, m)
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s has no steps", path)
	}
	slices.Sort(steps)
	t.step = steps[len(steps)/2]
	return nil
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
