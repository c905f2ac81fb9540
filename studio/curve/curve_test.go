package curve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/tensorboard"
)

func lines(from, to int, value string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, `{"step":%d,"a":%s,"text":"x","nested":{"a":1}}`+"\n", i, value)
	}
	return b.String()
}

// A metric that is never finite has no curve; one that ends so has lost its value.
func TestLogWithoutNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	text := `{"step":1,"a":NaN,"b":1,"c":2}` + "\n" + `{"step":2,"a":Infinity,"b":null,"c":null}` + "\n" +
		`{"step":3,"c":4}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log := Open(path, "step")
	if _, err := log.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := log.First("a", "b"); got != "b" {
		t.Errorf("the first with a value is %q", got)
	}
	if got := log.Names(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("the names are %v", got)
	}
	for name, want := range map[string]int{"a": 2, "b": 2, "c": 0, "d": 0} {
		if step, lost := log.Lost("d", name); lost != (want > 0) || lost && step != want {
			t.Errorf("%s is lost in step %d: %v", name, step, lost)
		}
	}
}

func TestLogFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	log := Open(path, "step")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, n int, last float64) {
		t.Helper()
		steps, values := log.Series("a")
		if len(steps) != n || n > 0 && values[n-1] != last {
			t.Errorf("%s: %d values, the last of %v; want %d and %g", what, len(steps), values, n, last)
		}
	}
	if changed, err := log.Refresh(); changed || err != nil {
		t.Error("a log that is not there changed:", err)
	}
	put(lines(1, 10, "1"))
	check("written", 10, 1)
	put(lines(1, 10, "1") + `{"step":11,"a":`)
	check("half a line", 10, 1)
	put(lines(1, 11, "1"))
	check("the other half", 11, 1)
	put(lines(1, 5, "1") + lines(6, 20, "2"))
	check("cut back and written on", 20, 2)
	put(lines(1, 20, "1")[:300])
	check("cut back", 6, 1)
	put(lines(1, 3, "1") + "damaged\n" + lines(5, 5, "null") + lines(6, 6, "3"))
	check("damaged lines and null", 4, 3)
	if got := log.Names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the names are %v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed, err := log.Refresh(); !changed || err != nil || log.Len() != 0 {
		t.Error("a log that was deleted has", log.Len(), "lines:", err)
	}
}

func TestThin(t *testing.T) {
	var steps []int
	var values []float64
	for i := range 1000 {
		steps, values = append(steps, i), append(values, float64(i%2))
	}
	c := Thin(steps, values, 10, 100, 899, func(step int) (float64, bool) { return float64(step), step > 500 })
	if len(c.Step) != 10 || c.Step[9] != 899 || c.Value[3] != 0.5 || c.Min[3] != 0 || c.Max[3] != 1 ||
		c.Time[0] != nil ||
		*c.Time[9] != 899 {
		t.Errorf("the curve is %+v", c)
	}
	if c := Thin(nil, nil, 10, 0, math.MaxInt, nil); len(c.Step) != 0 {
		t.Error("a curve of nothing has points")
	}
}

// What the project's own writer of TensorBoard files writes is read.
func TestEvents(t *testing.T) {
	dir := t.TempDir()
	m, err := monitor.Open(monitor.Config{Dir: dir, Open: tensorboard.Open, Keep: -1, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for step := range 3 {
		m.Add(step, "trainer", monitor.Metrics{"loss": float64(step) / 2})
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	log := Open(filepath.Join(dir, "monitor", "tensorboard"), "")
	if _, err := log.Refresh(); err != nil {
		t.Fatal(err)
	}
	steps, values := log.Series("loss")
	if !slices.Equal(steps, []int{0, 1, 2}) || !slices.Equal(values, []float64{0, 0.5, 1}) {
		t.Errorf("the events are %v %v", steps, values)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x08", 64)))
	f.Fuzz(func(t *testing.T, data []byte) {
		eachRecord(data, func(event []byte) { readEvent(event, map[int]map[string]float64{}) })
	})
}
