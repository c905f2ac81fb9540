package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Calls continue one another, and the last one's report is to have everything: what only one call comes to know is kept
// beside the jobs.

func (x *experiment) factFile(name string) string {
	return filepath.Join(x.Dir, "facts", strings.ReplaceAll(name, "/", "-")+".txt")
}

// fact reads what a call has kept, "" if none has.
func (x *experiment) fact(name string) (string, error) {
	text, err := os.ReadFile(x.factFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

func (x *experiment) keep(name, text string) error { return write(x.factFile(name), []byte(text)) }

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// clock counts the time that a part takes, in all calls, until the function that it returns is called. A kill loses
// less than a minute.
func (x *experiment) clock(name string) (stop func() error) {
	spent, err := x.seconds(name)
	if err != nil {
		return func() error { return err }
	}
	begun := time.Now()
	done, ended := make(chan struct{}), make(chan error, 1)
	note := func() error {
		return x.keep(name+"-seconds", fmt.Sprintf("%.0f", spent+time.Since(begun).Seconds()))
	}
	go func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := note(); err != nil {
					ended <- err
					return
				}
			case <-done:
				ended <- note()
				return
			}
		}
	}()
	return func() error {
		close(done)
		return <-ended
	}
}

// seconds reads what clock has counted.
func (x *experiment) seconds(name string) (float64, error) {
	text, err := x.fact(name + "-seconds")
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

const tokensKey = "perf/total_num_tokens"

// hours is the time of the steps.
func hours(lines []monitor.Line) float64 { return total(lines, "time/step") / 3600 }

// total is the sum of a metric.
func total(lines []monitor.Line, key string) (sum float64) {
	for _, l := range lines {
		sum += l.Metrics[key]
	}
	return sum
}
