package pythonenv_test

import (
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

func rand(seed uint64) *randv2.Rand { return randv2.New(randv2.NewPCG(seed, 1)) }

// TestFaults: whatever the code of an environment does is an error that says what, never a reward, and the environment
// plays on.
func TestFaults(t *testing.T) {
	t.Parallel()
	o := open(t, 3*time.Second)
	e := o.make(t, "python:faulty.py:Faulty", nil)
	for action, want := range map[string]string{
		"raise": "no such door", "hang": "did not return within 3s", "exit": "is lost",
		"nan":  "want a finite number",
		"four": "want a tuple (observation, reward, terminated, truncated, info)", "image": "want text",
	} {
		if _, err := e.Reset(1); err != nil {
			t.Fatalf("before %s: %v", action, err)
		}
		_, err := e.Step(action)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", action, err, want)
		}
		if action == "raise" && !strings.Contains(err.Error(), "faulty.py") {
			t.Errorf("no traceback in %v", err)
		}
		if action == "hang" && !strings.Contains(err.Error(), "time.sleep(60)") {
			t.Errorf("no place in %v", err)
		}
		if _, err := e.Step(`\boxed{1}`); !errors.Is(err, env.ErrOver) {
			t.Errorf("after %s a step returns %v", action, err)
		}
	}
	if !o.told("an episode failed") || !o.told("no such door") {
		t.Errorf("notes %q", o.notes)
	}
}

// TestHangsAtOnce: an environment that hangs when it is tried is an error that says where, and others are tried.
func TestHangsAtOnce(t *testing.T) {
	t.Parallel()
	o := open(t, 200*time.Millisecond) // ten times as long for a trial
	for _, where := range []string{"constructor", "reset", "step"} {
		_, err := o.Make("python:faulty.py:Hanging?where="+where, nil)
		if err == nil || !strings.Contains(err.Error(), "did not return within 2s") ||
			!strings.Contains(err.Error(), "time.sleep(60)") {
			t.Errorf("%s: error %v", where, err)
		}
	}
	o.make(t, "python:faulty.py:Faulty", nil)
}

// TestStopped: who stops the program does not wait for an environment that is being tried.
func TestStopped(t *testing.T) {
	t.Parallel()
	stop, failed, tell := make(chan struct{}), make(chan error, 1), filepath.Join(t.TempDir(), "begun")
	o := openStopped(t, time.Minute, stop)
	go func() {
		_, err := o.Make("python:faulty.py:Hanging?where=constructor&tell="+url.QueryEscape(tell), nil)
		failed <- err
	}()
	eventually(t, "the constructor begins", func() bool { _, err := os.Stat(tell); return err == nil })
	close(stop)
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "it was stopped") {
		t.Errorf("error %v", err)
	}
}

// TestLost: an episode whose process is lost is played again in another to where it was; so is the call that was lost.
func TestLost(t *testing.T) {
	t.Parallel()
	o := open(t, 0)
	const id = "python:faulty.py:Faulty?max_turns=9"
	e, other := o.make(t, id, nil), o.make(t, id, nil)
	begin(t, e, 7)
	begin(t, other, 7)
	for _, a := range []string{`\boxed{99}`, `\boxed{98}`} {
		same(t, e, other, a)
	}
	for _, pid := range o.host.Processes() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	same(t, e, other, `\boxed{97}`)
	file := filepath.Join(t.TempDir(), "was here")
	file = strings.ReplaceAll(file, " ", "_")
	if s, err := e.Step("once " + file); err != nil || s.Reward != -0.1 {
		t.Errorf("a step in which the process was lost once: %+v, %v", s, err)
	}
}

// TestLostAtRest: environments that rest when their processes die cost the next episodes nothing.
func TestLostAtRest(t *testing.T) {
	t.Parallel()
	o := open(t, 0)
	all := make([]env.Env, 12)
	for i := range all {
		all[i] = o.make(t, "python:faulty.py:Faulty", nil)
		begin(t, all[i], 1)
	}
	for _, e := range all {
		if s, err := e.Step("no guess"); err != nil || !s.Done() {
			t.Fatalf("%+v, %v; want the end of the episode", s, err)
		}
	}
	for _, pid := range o.host.Processes() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range all {
		begin(t, e, 2)
	}
}

func begin(t *testing.T, e env.Env, seed uint64) {
	t.Helper()
	if _, err := e.Reset(seed); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, e, other env.Env, action string) {
	t.Helper()
	a, err1 := e.Step(action)
	b, err2 := other.Step(action)
	if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %+v and %+v, %v", action, a, b, err)
	}
}

// TestReplayDiffers: an episode that cannot be played again as it was is an error that says so.
func TestReplayDiffers(t *testing.T) {
	t.Parallel()
	o := open(t, 0)
	e := o.make(t, "python:faulty.py:Unsteady?high=1000000", nil)
	begin(t, e, 1)
	for _, pid := range o.host.Processes() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Step(`\boxed{1}`); err == nil || !strings.Contains(err.Error(), "does not draw everything from") {
		t.Errorf("error %v", err)
	}
}

// TestHangBeside: a hung environment fails alone. Those that wait behind it are played again elsewhere.
func TestHangBeside(t *testing.T) {
	t.Parallel()
	o := open(t, 3*time.Second)
	const n = 12
	all := make([]env.Env, n)
	for i := range all {
		all[i] = o.make(t, "python:faulty.py:Faulty?max_turns=50", nil)
		begin(t, all[i], uint64(i))
	}
	errs, failed := make([]error, n), make(chan struct{})
	var wg sync.WaitGroup
	for i, e := range all {
		wg.Go(func() {
			if i == 0 {
				_, errs[i] = e.Step("hang")
				close(failed)
				return
			}
			for turn := range 10 {
				if _, errs[i] = e.Step(`\boxed{99}`); errs[i] != nil {
					return
				}
				if turn == 5 {
					<-failed
				}
			}
		})
	}
	wg.Wait()
	if errs[0] == nil || !strings.Contains(errs[0].Error(), "did not return within 3s") {
		t.Errorf("the hung one: %v", errs[0])
	}
	if err := errors.Join(errs[1:]...); err != nil {
		t.Errorf("the others: %v", err)
	}
}

// TestManyEpisodes: hundreds of episodes are open at once in two processes, in turns, and each is the same as alone.
func TestManyEpisodes(t *testing.T) {
	t.Parallel()
	const n = 400
	o := open(t, 0)
	all := make([]env.Env, n)
	var wg sync.WaitGroup
	said := make([]string, n)
	for i := range all {
		all[i] = o.make(t, "python:guessing.py:Guess?hints=false", nil)
		wg.Go(func() {
			first, err := all[i].Reset(uint64(i))
			if err != nil {
				t.Error(err)
			}
			said[i] = first.Text
		})
	}
	wg.Wait()
	if k := len(o.host.Processes()); k > 2 {
		t.Errorf("%d processes, want at most 2", k)
	}
	for range 3 {
		for i, e := range all {
			wg.Go(func() {
				s, err := e.Step(`\boxed{99}`)
				if err != nil {
					t.Error(err)
				}
				said[i] += fmt.Sprint(s.Text, s.Metrics["lucky"])
			})
		}
		wg.Wait()
	}
	alone := o.make(t, "python:guessing.py:Guess?hints=false", nil)
	for i := 0; i < n; i += 25 {
		first, err := alone.Reset(uint64(i))
		want := first.Text
		for range 3 {
			s, serr := alone.Step(`\boxed{99}`)
			err = errors.Join(err, serr)
			want += fmt.Sprint(s.Text, s.Metrics["lucky"])
		}
		if err != nil || said[i] != want {
			t.Errorf("episode %d among all: %q, alone %q, %v", i, said[i], want, err)
		}
	}
}

// TestClosed: after the source or the host is closed nothing plays on, and nothing waits.
func TestClosed(t *testing.T) {
	t.Parallel()
	o := open(t, 0)
	e, other := o.make(t, "python:guessing.py:Guess", nil), o.make(t, "python:guessing.py:Guess", nil)
	begin(t, e, 1)
	begin(t, other, 1)
	o.host.Close()
	if _, err := e.Step(`\boxed{1}`); !errors.Is(err, python.ErrClosed) {
		t.Errorf("error %v, want %v", err, python.ErrClosed)
	}
	o.close()
	if _, err := other.Reset(2); err == nil {
		t.Error("an episode begins on a closed source")
	}
}
