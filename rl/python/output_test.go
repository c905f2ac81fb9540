package python_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// text joins what was logged of a task.
func (l *logged) text(task string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, e := range l.entries {
		if e.Task == task {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// TestRawOutput: what does not go through sys.stdout is logged too, and is no message.
func TestRawOutput(t *testing.T) {
	t.Parallel()
	var l logged
	h := open(t, func(o *python.Options) { o.Log = l.add })
	if err := h.Call(t.Context(), "fail.raw_print", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	h.Close()
	for _, want := range []string{
		"raw\n", "by the first stdout\n", "by its buffer\n", "from C\n", "from a child\n", "by its stdout\n",
	} {
		if !strings.Contains(l.text(""), want) {
			t.Errorf("no %q in %q", want, l.text(""))
		}
	}
}

// TestWhoPrints: what calls print and log at the same time is told apart, though words come in pieces.
func TestWhoPrints(t *testing.T) {
	t.Parallel()
	var l logged
	h := open(t, func(o *python.Options) { o.Log = l.add })
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			who := fmt.Sprint("caller", i)
			name := []string{"test.chatter", "test.chatter_async"}[i%2]
			if err := h.Call(python.WithTask(t.Context(), who), name, args{"who": who}, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	h.Close()
	for i := range 20 {
		who := fmt.Sprint("caller", i)
		text := l.text(who)
		var want int
		for n := range 20 {
			want += strings.Count(text, fmt.Sprintf("%s %d\n", who, n))
		}
		want += strings.Count(text, who+" logs\n") + strings.Count(text, "WARNING:root:"+who+" warns\n")
		if want != 60 || strings.Count(text, "\n") != 61 || !strings.Contains(text, who+" in a thread\n") {
			t.Errorf("%s: %d lines of 60:\n%s", who, want, text)
		}
	}
	if rest := l.text(""); rest != "" {
		t.Errorf("outside of calls: %q", rest)
	}
}

// TestFlood: more output than a process may have memory is read, costs little memory, and is cut with a note; the call
// succeeds.
func TestFlood(t *testing.T) {
	mb := 300
	if testing.Short() {
		mb = 50
	}
	for _, tt := range []struct {
		call string
		args args
		note string
	}{
		{"fail.flood_print", args{"mb": mb}, "characters of output were dropped"},
		{"fail.flood_lines", args{"lines": 200_000}, "characters of output were dropped"},
		{"fail.flood_raw", args{"mb": mb}, "bytes of output were dropped"},
	} {
		var l logged
		h := open(t, func(o *python.Options) { o.Log = l.add; o.Memory = 256 << 20 })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if err := h.Call(python.WithTask(t.Context(), "flood"), tt.call, tt.args, nil, nil); err != nil {
			t.Errorf("%s: %v", tt.call, err)
		}
		t.Logf("%s took %s", tt.call, time.Since(start).Round(time.Millisecond))
		works(t, h)
		h.Close()
		runtime.ReadMemStats(&after)
		all := l.text("flood") + l.text("")
		most := 2<<20 + int(time.Since(start).Seconds())<<15
		if len(all) > most || len(all) < 900<<10 || !strings.Contains(all, tt.note) ||
			!strings.Contains(all, "beyond the limit is dropped") {
			t.Errorf("%s: %d bytes logged, the last %q", tt.call, len(all), all[max(0, len(all)-200):])
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
			t.Errorf("%s: the heap grew by %d MiB", tt.call, grown>>20)
		}
	}
}
