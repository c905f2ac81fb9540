package python_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

type args = map[string]any

// works checks that the next call is answered.
func works(t *testing.T, h python.Caller) {
	t.Helper()
	var got args
	if err := h.Call(t.Context(), "test.echo", args{"x": 1}, &got, nil); err != nil || got["x"] != 1.0 {
		t.Errorf("the next call: %v, %v", got, err)
	}
}

// waiting begins a call that ends only with its process, and returns when it waits.
func waiting(ctx context.Context, t *testing.T, h python.Caller) (result chan error) {
	t.Helper()
	begun := make(chan struct{})
	result = make(chan error, 1)
	up := func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	go func() { result <- h.Call(ctx, "fail.wait_up", nil, nil, up) }()
	<-begun
	return result
}

// TestLost: whatever ends a process, its calls fail with the reason, and the next call works.
func TestLost(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.MaxMessage = 1 << 20 })
	for _, tt := range []struct {
		call string
		args args
		want string // in the error
	}{
		{"fail.exit_at_once", nil, "exit status 7"},
		{"fail.crash", nil, "Segmentation fault"},
		{"fail.garbage", args{"text": "hello, I am a library"}, "a line that is no message: \"hello, I am"},
		{"fail.garbage", args{"text": `{"id":99,"result":1}`}, "call 99, which is not in progress"},
		{"fail.garbage", args{"text": `{"hello":{"protocol":1}}`}, "hello is the first message"},
		{"fail.garbage", args{"text": strings.Repeat("z", 1<<20-100)}, "a line that is no message"},
	} {
		other := waiting(t.Context(), t, h)
		for _, err := range []error{h.Call(t.Context(), tt.call, tt.args, nil, nil), <-other} {
			var lost *python.Lost
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.call, err, tt.want)
			}
		}
		works(t, h)
	}
}

// TestRaised: what Python raises, and results that are none, fail their own call with a class and a text.
func TestRaised(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.MaxMessage = 1 << 20 })
	for _, tt := range []struct {
		call, kind, want string
		args             args
	}{
		{"fail.sys_exit", "SystemExit", "enough", nil},
		{"fail.unsayable", "TypeError", "a result holds a builtin_function_or_method", nil},
		{"fail.itself", "ValueError", "contains itself", nil},
		{"fail.deep", "RecursionError", "recursion", nil},
		{"fail.big_result", "ValueError", "the limit is 1048576", args{"bytes": 2 << 20}},
		{"fail.nosuch", "NameError", "no call 'fail.nosuch' here", nil},
	} {
		err := h.Call(t.Context(), tt.call, tt.args, nil, nil)
		var raised *python.Error
		if !errors.As(err, &raised) || raised.Type != tt.kind || !strings.Contains(raised.Message, tt.want) {
			t.Errorf("%s: %v", tt.call, err)
		}
	}
	err := h.Call(t.Context(), "test.echo", args{"x": strings.Repeat("x", 2<<20)}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "the limit is 1048576") {
		t.Errorf("big arguments: %v", err)
	}
	works(t, h)
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	var got struct {
		A []python.Float
		B python.Float
		C []json.RawMessage
		D string
	}
	if err := h.Call(t.Context(), "fail.numbers", nil, &got, nil); err != nil {
		t.Fatal(err)
	}
	if got.A[0] != 1.5 || !math.IsNaN(float64(got.A[1])) || !math.IsInf(float64(got.B), 1) ||
		string(got.C[0]) != `"-Infinity"` || string(got.C[1]) != `["x"]` || got.D != "\uFFFD" {
		t.Errorf("got %+v", got)
	}
	back := args{"x": []python.Float{2, python.Float(math.NaN()), python.Float(math.Inf(-1))}}
	var echo struct{ X []python.Float }
	if err := h.Call(t.Context(), "test.echo", back, &echo, nil); err != nil {
		t.Fatal(err)
	}
	if echo.X[0] != 2 || !math.IsNaN(float64(echo.X[1])) || !math.IsInf(float64(echo.X[2]), -1) {
		t.Errorf("got %v", echo.X)
	}
}

// TestDeadline: a call that does not end in time fails alone, and says where it was. What can be cancelled is.
func TestDeadline(t *testing.T) {
	t.Parallel()
	calm := open(t, func(o *python.Options) { o.Grace = time.Minute })
	strict := open(t, func(o *python.Options) { o.Grace = time.Second })
	for _, tt := range []struct {
		call     string
		where    string
		replaced bool
	}{
		{"fail.wait", "in sleep", false},
		{"fail.wait_up", "in wait_up", false},
		{"test.sleep", "in sleep", true},
		{"fail.spin", "in spin", true},
	} {
		h, long := calm, .1
		if tt.replaced {
			h, long = strict, 1.2 // longer than the grace
		}
		pid := func() (pid int) {
			if err := h.Call(t.Context(), "fail.remember", args{}, &pid, nil); err != nil {
				t.Fatal(err)
			}
			return pid
		}
		first := pid()
		beside := begin(t.Context(), t, h, "fail.wait", long)
		ctx, cancel := context.WithCancel(t.Context())
		var called chan error
		if tt.call == "fail.wait_up" {
			called = waiting(ctx, t, h)
		} else {
			called = begin(ctx, t, h, tt.call, 60)
		}
		cancel()
		err := <-called
		var given *python.Cancelled
		if !errors.As(err, &given) || !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", tt.call, err)
		}
		if !strings.Contains(given.Stack, tt.where) || strings.Contains(given.Stack, "_host/main.py") {
			t.Errorf("%s was at\n%s", tt.call, given.Stack)
		}
		if err := <-beside; err != nil {
			t.Errorf("another call beside %s: %v", tt.call, err)
		}
		if tt.replaced {
			eventually(t, "the process of "+tt.call+" is replaced", func() bool { return pid() != first })
		}
		if now := pid(); (now != first) != tt.replaced {
			t.Errorf("%s: process replaced: %v", tt.call, now != first)
		}
	}
}

// TestHungProcess: code that keeps the interpreter's lock, or blocks the event loop, stops everything. The process is
// killed, and the other calls are told that they may be made again.
func TestHungProcess(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"fail.hold_the_lock", "fail.block_the_loop"} {
		h := open(t, func(o *python.Options) { o.Grace = 200 * time.Millisecond })
		other := waiting(t.Context(), t, h)
		ctx, cancel := context.WithCancel(t.Context())
		called := begin(ctx, t, h, call, 60)
		cancel()
		if err := <-called; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", call, err)
		}
		var lost *python.Lost
		if err := <-other; !errors.As(err, &lost) || !strings.Contains(err.Error(), "hangs in "+call) {
			t.Errorf("beside %s: %v", call, err)
		}
		works(t, h)
	}
}

// TestMemory: more than the limit is an exception, and the process serves on.
func TestMemory(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.Memory = 256 << 20 })
	err := h.Call(t.Context(), "fail.allocate", args{"mb": 400}, nil, nil)
	var raised *python.Error
	if !errors.As(err, &raised) || raised.Type != "MemoryError" {
		t.Errorf("400 MiB of 256: %v", err)
	}
	var n int
	if err := h.Call(t.Context(), "fail.allocate", args{"mb": 100}, &n, nil); err != nil || n != 100<<20 {
		t.Errorf("100 MiB of 256: %v", err)
	}
	err = h.Call(t.Context(), "fail.hoard", nil, nil, nil)
	var lost *python.Lost
	if !(errors.As(err, &raised) && raised.Type == "MemoryError" || errors.As(err, &lost)) {
		t.Errorf("small pieces: %v", err)
	}
	t.Logf("small pieces: %v", err)
	works(t, h)
}

// TestSession: state in one process, through the load of others, until the process is lost.
func TestSession(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.Processes = 2 })
	pids := map[int]bool{}
	var sessions []*python.Session
	for i := range 2 {
		s, err := h.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var pid int
		if err := s.Call(t.Context(), "fail.remember", args{"i": i}, &pid, nil); err != nil {
			t.Fatal(err)
		}
		pids[pid] = true
		sessions = append(sessions, s)
	}
	if len(pids) != 2 {
		t.Errorf("two sessions share a process of two")
	}
	var got struct{ I int }
	if err := sessions[1].Call(t.Context(), "fail.recall", nil, &got, nil); err != nil || got.I != 1 {
		t.Errorf("%v, %v", got, err)
	}
	sessions[1].Call(t.Context(), "fail.exit_at_once", nil, nil, nil)
	var lost *python.Lost
	if err := sessions[1].Call(t.Context(), "fail.recall", nil, &got, nil); !errors.As(err, &lost) {
		t.Errorf("a session of a lost process: %v", err)
	}
	if err := sessions[0].Call(t.Context(), "fail.recall", nil, &got, nil); err != nil || got.I != 0 {
		t.Errorf("%v, %v", got, err)
	}
	works(t, h)
}

// TestSetup runs on every process, also on those that replace others.
func TestSetup(t *testing.T) {
	t.Parallel()
	n := 0
	h := open(t, func(o *python.Options) {
		o.Setup = func(ctx context.Context, p python.Caller) error {
			n++
			return p.Call(ctx, "fail.remember", args{"n": n}, nil, nil)
		}
	})
	h.Call(t.Context(), "fail.exit_at_once", nil, nil, nil)
	var got struct{ N int }
	if err := h.Call(t.Context(), "fail.recall", nil, &got, nil); err != nil || got.N != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	var status int
	if err := h.Call(t.Context(), "fail.fork", nil, &status, nil); err != nil || status == 0 {
		t.Errorf("status %d, %v", status, err)
	}
	works(t, h)
}

func TestClosed(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	other := waiting(t.Context(), t, h)
	h.Close()
	if err := <-other; !errors.Is(err, python.ErrClosed) {
		t.Error(err)
	}
	if err := h.Call(t.Context(), "test.echo", nil, nil, nil); !errors.Is(err, python.ErrClosed) {
		t.Error(err)
	}
}
