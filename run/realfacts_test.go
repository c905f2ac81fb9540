package run

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

// Calls of TestReal continue one another, and the last one's log is to have everything: what only one call comes to
// know is kept beside the jobs.

func (r realRun) factFile(name string) string {
	return filepath.Join(*realDir, "facts", strings.ReplaceAll(name, "/", "-")+".txt")
}

// fact reads what a call has kept, "" if none has.
func (r realRun) fact(name string) string {
	r.Helper()
	text, err := os.ReadFile(r.factFile(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Fatal(err)
	}
	return string(text)
}

func (r realRun) keep(name, text string) {
	r.Helper()
	path := r.factFile(name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	if err != nil {
		r.Fatal(err)
	}
}

// clock counts the time that a part takes, in all calls, until the function that it returns is called. A kill loses
// less than a minute.
func (r realRun) clock(part string) (stop func()) {
	r.Helper()
	part += "-seconds"
	spent, begun := r.seconds(part), time.Now()
	done, ended := make(chan struct{}), make(chan struct{})
	note := func() { r.keep(part, fmt.Sprintf("%.0f", spent+time.Since(begun).Seconds())) }
	go func() {
		defer close(ended)
		for tick := time.NewTicker(time.Minute); ; {
			select {
			case <-tick.C:
				note()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		note()
	}
}

// seconds reads what clock has counted.
func (r realRun) seconds(part string) float64 {
	r.Helper()
	text := r.fact(part)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// hours is the time of the steps.
func hours(lines []monitor.Line) float64 { return total(lines, "time/step") / 3600 }

// total is the sum of a metric.
func total(lines []monitor.Line, key string) (sum float64) {
	for _, l := range lines {
		sum += l.Metrics[key]
	}
	return sum
}
