package python_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

func TestMain(m *testing.M) {
	pythontest.Prepare()
	goleak.VerifyTestMain(m, goleak.Cleanup(pythontest.Share()))
}

// logged collects entries.
type logged struct {
	mu      sync.Mutex
	entries []python.Entry
}

func (l *logged) add(e python.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// open opens a host with the functions of testdata, changed by with.
func open(t testing.TB, with func(*python.Options)) *python.Host {
	t.Helper()
	pythontest.Needed(t)
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	o := python.Options{Dirs: []string{dir}, Imports: []string{"hosttest", "failing"}, Folder: pythontest.Shared()}
	if with != nil {
		with(&o)
	}
	h, err := python.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// eventually waits until something is true that another process does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// begin calls a function that takes seconds and returns when it has begun.
func begin(ctx context.Context, t testing.TB, h python.Caller, name string, seconds float64) (result chan error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "begun")
	result = make(chan error, 1)
	go func() { result <- h.Call(ctx, name, args{"seconds": seconds, "begun": file}, nil, nil) }()
	eventually(t, name+" begins", func() bool { return exists(file) })
	return result
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func add(_ context.Context, name string, args json.RawMessage) (any, error) {
	var in struct{ A, B int }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if in.A < 0 {
		return nil, errors.New("a is negative")
	}
	return in.A + in.B, nil
}

// TestCalls makes calls of every kind in one process.
func TestCalls(t *testing.T) {
	t.Parallel()
	var l logged
	h := open(t, func(o *python.Options) { o.Log = l.add })
	t.Run("result", func(t *testing.T) {
		var got map[string]any
		if err := h.Call(t.Context(), "test.echo", map[string]any{"text": "ä\n☃"}, &got, nil); err != nil {
			t.Fatal(err)
		}
		if got["text"] != "ä\n☃" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("call back", func(t *testing.T) {
		for _, name := range []string{"test.up", "test.up_async"} {
			var got int
			if err := h.Call(t.Context(), name, map[string]int{"a": 2, "b": 3}, &got, add); err != nil || got != 5 {
				t.Errorf("%s: %d, %v", name, got, err)
			}
			err := h.Call(t.Context(), name, map[string]int{"a": -2}, &got, add)
			var raised *python.Error
			if !errors.As(err, &raised) || raised.Type != "UpError" || raised.Message != "a is negative" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("exception", func(t *testing.T) {
		err := h.Call(t.Context(), "test.fail", map[string]string{"what": "x"}, nil, nil)
		var raised *python.Error
		if !errors.As(err, &raised) || raised.Type != "ValueError" || raised.Message != "no such thing: x" ||
			!strings.Contains(raised.Traceback, "hosttest.py") || strings.Contains(raised.Traceback, "_host/main.py") {
			t.Errorf("%v\n%s", err, raised.Traceback)
		}
	})
	t.Run("print", func(t *testing.T) {
		ctx := python.WithTask(t.Context(), "task 7")
		if err := h.Call(ctx, "test.say", map[string]string{"text": "hello"}, nil, nil); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		want := python.Entry{Task: "task 7", Call: "test.say", Level: "info", Text: "hello"}
		if len(l.entries) != 1 || l.entries[0] != want {
			t.Errorf("%+v", l.entries)
		}
	})
}
