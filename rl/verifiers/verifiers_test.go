package verifiers

import (
	"context"
	"errors"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plays has a server that runs already play an episode.
func plays(ctx context.Context, t *testing.T, address string, more map[string]any) ([]workflow.Part, error) {
	t.Helper()
	v := New(Options{})
	v.host.patience = 3 * time.Second
	defer v.Close()
	values := map[string]any{"env_id": Prefix + address}
	for k, x := range more {
		values[k] = x
	}
	c, err := v.Check(values)
	if err != nil {
		t.Fatal(err)
	}
	params := tinker.DefaultSampling()
	params.MaxTokens = 9
	return c.Carry(ctx, workflow.Work{ID: "3-7-0-ab", URL: "http://127.0.0.1:1/rollouts/3-7-0-ab/v1", Model: "m",
		Params: params, Task: workflow.Task{Row: dataset.Row{{Key: "key", Value: "k"},
			{Key: "data", Value: map[string]any{"idx": 7, "prompt": "2+2?"}}}}})
}

// eventually waits until something is true that a server does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// healthy answers health as the package does, and leaves the rest to each.
func healthy(t *testing.T, each func(m message)) *router {
	return serve(t, func(m message) {
		if string(m.frames[1]) == "health" {
			m.answer(t, map[string]any{"success": true, "error": nil})
			return
		}
		each(m)
	})
}

// TestRecorded replays what the package's own server sends.
func TestRecorded(t *testing.T) {
	frames := recorded(t)
	for _, c := range []struct {
		run, want string
		reward    float64
	}{
		{"solved", "", 1},
		{"broken", "the episode failed: ", 0},
		{"wrong task", "the server failed: ValidationError: ", 0},
		{"unknown", "the server failed: unknown method 'dance'", 0},
	} {
		var asked map[string]any
		s := serve(t, func(m message) {
			if string(m.frames[1]) == "health" {
				m.replay(frames["health"])
				return
			}
			v, err := msgpack.Decode(m.frames[2], bound.Of(1<<20))
			if err != nil {
				t.Error(err)
			}
			asked, _ = v.(map[string]any)
			m.replay(frames[c.run])
		})
		parts, err := plays(t.Context(), t, s.address, nil)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || parts != nil {
				t.Errorf("%s: %v, %v; want %q", c.run, parts, err, c.want)
			}
			continue
		}
		if err != nil || len(parts) != 1 || parts[0].Reward != c.reward || parts[0].Session != "" ||
			parts[0].Metrics["reward/accuracy"] != 1 {
			t.Errorf("%s: %+v, %v", c.run, parts, err)
		}
		want := map[string]any{"model": "m", "task_data": map[string]any{"idx": int64(7), "prompt": "2+2?"},
			"sampling": map[string]any{"temperature": 1.0, "top_p": 1.0, "max_tokens": int64(9)},
			"client": map[string]any{"type": "eval", "base_url": "http://127.0.0.1:1/rollouts/3-7-0-ab/v1",
				"api_key_var": "TRINITY_API_KEY", "headers": map[string]any{"X-Trinity-Rollout": "3-7-0-ab"}}}
		if !reflect.DeepEqual(asked, want) {
			t.Errorf("asked %v\nwant %v", asked, want)
		}
	}
}

// TestServersFail: each way a server fails is an error that says what to do, never a reward.
func TestServersFail(t *testing.T) {
	for _, c := range []struct {
		what, want string
		each       func(m message)
	}{
		{"dies", "the connection is lost", func(m message) { m.conn.Close() }},
		{"garbage", "it sent garbage: msgpack", func(m message) {
			m.send(m.frames[0], []byte("reply"), []byte("\xc1"))
		}},
		{"frames", "a message of 1 frames", func(m message) { m.send([]byte("x")) }},
		{"kind", `of the kind "news"`, func(m message) { m.send(m.frames[0], []byte("news"), []byte("\xc0")) }},
		{"delta", "names no trace", func(m message) { m.send(m.frames[0], []byte("delta"), []byte("\xc0")) }},
		{"answer", "the answer is no map", func(m message) { m.send(m.frames[0], []byte("reply"), []byte("\x01")) }},
		{"nothing", "has no episode", func(m message) { m.answer(t, map[string]any{"success": true}) }},
		{"lost trace", `the trace "t" did not come whole`, func(m message) {
			m.answer(t, map[string]any{"success": true, "head": map[string]any{"ok": true},
				"traces": []any{map[string]any{"id": "t", "nodes": 2, "calls": 1}}})
		}},
	} {
		parts, err := plays(t.Context(), t, healthy(t, c.each).address, nil)
		if err == nil || parts != nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "verifiers: rollout 3-7-0-ab: ") {
			t.Errorf("%s: %v, %v; want %q", c.what, parts, err, c.want)
		}
	}
	s := healthy(t, func(message) {})
	_, err := plays(t.Context(), t, s.address, map[string]any{"timeout": 0.1})
	if err == nil || !strings.Contains(err.Error(), "did not end within 100ms (workflow_args.timeout)") {
		t.Errorf("hangs: %v", err)
	}
	eventually(t, "the run is cancelled", func() bool { return strings.Contains(s.methods(), "run cancel") })
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s = healthy(t, func(message) { cancel(gone) })
	if _, err := plays(ctx, t, s.address, nil); !errors.Is(err, gone) {
		t.Errorf("a run that ends: %v", err)
	}
}

// TestJoinRefuses: a server that is not there, does not answer, or is a legacy one.
func TestJoinRefuses(t *testing.T) {
	legacy := serve(t, func(m message) {
		if len(m.frames) == 2 && string(m.frames[1]) == "ping" { // others it does not know
			m.send(m.frames[0], []byte("\x82\xa7success\xc3\xa5error\xc0"))
		}
	})
	for address, want := range map[string]string{
		legacy.address:                     "it is a legacy server (verifiers 0.2 and older)",
		serve(t, func(message) {}).address: "did not answer within",
		"tcp://127.0.0.1:1":                "no env server answers at tcp://127.0.0.1:1",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if _, err := plays(t.Context(), t, address, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", address, err, want)
			}
		})
	}
}

// episode is an answer of verifiers 0.3, which is whole.
func episode(ok bool, errs []any, traces ...any) map[string]any {
	return map[string]any{"success": true, "episode": map[string]any{"ok": ok, "errors": errs, "traces": traces}}
}

func traceOf(id string, trainable bool, rewards map[string]any) map[string]any {
	return map[string]any{"id": id, "ok": true, "agent": map[string]any{"name": id, "trainable": trainable},
		"rewards": rewards, "metrics": map[string]any{"len": 3.0, "none": nil}}
}

func TestEpisodes(t *testing.T) {
	one := map[string]any{"score": 1.0, "weight": 0.5}
	two := map[string]any{"score": int64(2), "weight": 2.0}
	wrong := map[string]any{"type": "EnvError", "message": "no cards"}
	for _, c := range []struct {
		what   string
		answer map[string]any
		want   []workflow.Part
		err    string
	}{
		{"several rewards", episode(true, nil, traceOf("a", true, map[string]any{"x": one, "y": two})),
			[]workflow.Part{{Reward: 4.5, Metrics: map[string]float64{"reward/x": 1, "reward/y": 2, "len": 3}}}, ""},
		{"several agents", episode(true, nil, traceOf("a", true, map[string]any{"x": one}),
			traceOf("judge", false, nil), traceOf("b", true, map[string]any{"x": two})),
			[]workflow.Part{{Session: "a", Reward: 0.5, Metrics: map[string]float64{"reward/x": 1, "len": 3}},
				{Session: "b", Reward: 4, Metrics: map[string]float64{"reward/x": 2, "len": 3}}}, ""},
		{"a reward that was not scored", episode(true, nil, traceOf("a", true, map[string]any{"x": one, "y": nil})),
			nil, "the trace of the agent a: its reward y was not scored"},
		{"no reward", episode(true, nil, traceOf("a", true, nil)), nil, "it has no reward"},
		{"nobody is trained", episode(true, nil, traceOf("a", false, nil)), nil,
			"no agent of the episode is trainable"},
		{"an episode that failed", episode(false, []any{wrong, wrong}, traceOf("a", true, map[string]any{"x": one})),
			nil, "the episode failed: EnvError: no cards"},
		{"a trace that failed", episode(true, nil, map[string]any{"id": "a", "ok": false, "errors": []any{wrong}}), nil,
			"EnvError: no cards"},
		{"a failure without a word", episode(false, nil), nil, "it names no error"},
	} {
		parts, err := newAssembly().finish(c.answer)
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil ||
			!reflect.DeepEqual(parts, c.want) {
			t.Errorf("%s: %+v, %v; want %+v, %q", c.what, parts, err, c.want, c.err)
		}
	}
	// the same over the wire of 0.3, whose answers have two frames
	s := healthy(t, func(m message) {
		data, err := msgpack.Encode(episode(true, []any{}, traceOf("a", true, map[string]any{"x": one})))
		if err != nil {
			t.Error(err)
		}
		m.send(m.frames[0], data)
	})
	if parts, err := plays(t.Context(), t, s.address, nil); err != nil || parts[0].Reward != 0.5 {
		t.Errorf("0.3: %v, %v", parts, err)
	}
}

// TestPythonIsRefused: a Python without the package is told what to install.
func TestPythonIsRefused(t *testing.T) {
	ctx := t.Context()
	none := New(Options{Executable: "no-such-python"})
	defer none.Close()
	if _, err := none.Rows(ctx, "verifiers:x", nil); err == nil || !strings.Contains(err.Error(), "--python") {
		t.Errorf("no Python: %v", err)
	}
	if _, err := none.Rows(ctx, "verifiers:tcp://127.0.0.1:1", nil); err == nil ||
		!strings.Contains(err.Error(), "cannot list its tasks") {
		t.Errorf("the tasks of a server: %v", err)
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import verifiers").Run() == nil {
		t.Skip("there is no python3 without verifiers")
	}
	v := New(Options{Executable: python})
	defer v.Close()
	if _, err := v.Rows(ctx, "verifiers:x", nil); err == nil ||
		!strings.Contains(err.Error(), "pip install verifiers there") {
		t.Errorf("no package: %v", err)
	}
	c, err := v.Check(map[string]any{"env_id": "verifiers:x"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Carry(ctx, workflow.Work{Task: workflow.Task{Row: dataset.Row{{Key: "data", Value: map[string]any{}}}}})
	if err == nil || !strings.Contains(err.Error(), "pip install verifiers there") {
		t.Errorf("a server without the package: %v", err)
	}
}

func TestArguments(t *testing.T) {
	v := New(Options{})
	defer v.Close()
	for want, values := range map[string]map[string]any{
		"env_id is \"reverse\"": {"env_id": "reverse"},
		"config is 3":           {"env_id": "verifiers:x", "config": 3},
		"limits is not an argu": {"env_id": "verifiers:x", "limits": 3},
	} {
		if _, err := v.Check(values); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
	_, err := taskOf(dataset.Row{{Key: "q", Value: 1}})
	if err == nil || !strings.Contains(err.Error(), "no column data") {
		t.Error(err)
	}
}

func FuzzEpisode(f *testing.F) {
	for _, run := range recorded(f) {
		for _, frames := range run {
			f.Add(frames[len(frames)-1])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := msgpack.Decode(data, bound.Of(1<<20))
		if err != nil {
			return
		}
		a := newAssembly()
		a.apply(v, len(data))
		if parts, err := a.finish(v); err == nil && len(parts) == 0 {
			t.Error("an episode without parts")
		}
	})
}
