package pythonenv_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/envtest"
	"github.com/seed-d9ad8ee0/trinity/rl/env/pythonenv"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

func TestMain(m *testing.M) {
	pythontest.Prepare()
	goleak.VerifyTestMain(m, goleak.Cleanup(pythontest.Share()))
}

// opened is a registry with environments in Python, and what it told the user.
type opened struct {
	*env.Registry
	host  *python.Host
	close func() // of the source
	mu    sync.Mutex
	notes []string
}

func (o *opened) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notes = append(o.notes, text)
}

func (o *opened) told(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(strings.Join(o.notes, "\n"), text)
}

// open opens a host whose sys.path has testdata and what stands there for GEM.
func open(t *testing.T, timeout time.Duration) *opened {
	return openStopped(t, timeout, nil)
}

func openStopped(t *testing.T, timeout time.Duration, stop <-chan struct{}) *opened {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("these tests run Python: install python3, version " + python.Oldest + " or newer")
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	h, err := python.Open(t.Context(), python.Options{Dirs: []string{dir, filepath.Join(dir, "fake")}, Processes: 2,
		Imports: []string{pythonenv.Module}, Grace: 500 * time.Millisecond, Folder: pythontest.Shared()})
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{host: h}
	s := pythonenv.New(t.Context(), h, pythonenv.Options{Timeout: timeout, Stop: stop,
		Find: func(path string) string { return filepath.Join(dir, path) },
		Note: o.note, Failed: func(err error) { o.note("an episode failed: " + err.Error()) }})
	o.close = s.Close
	t.Cleanup(func() { s.Close(); h.Close() })
	empty, err := env.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = empty.With(pythonenv.Prefix, s.Spec)
	return o
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

func (o *opened) make(t *testing.T, id string, p env.Params) env.Env {
	t.Helper()
	e, err := o.Make(id, p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestTogether makes environments of all kinds in the same processes.
func TestTogether(t *testing.T) {
	t.Parallel()
	o := open(t, 0)
	for name, test := range map[string]func(*testing.T, *opened){"contract": contract, "wrapped": wrapped,
		"parameters": parameters, "rows": rows, "programs": programs, "refused": refused, "unsteady": unsteady,
		"numpy": numPy, "no seed": noSeed} {
		t.Run(name, func(t *testing.T) { test(t, o) })
	}
}

// contract: environments in Python pass the suite of all environments, whether they can be copied or not.
func contract(t *testing.T, o *opened) {
	for _, id := range []string{
		"python:gem:game:Guess-v0-easy", "python:guessing.py:Guess?max_turns=8&hints=false",
		"python:guessing.py:Uncopied", "python:guessing.py:Shared", "python:guessing:Guess",
		"python:gymstyle.py:Lights", "python:gymstyle.py:Lights?parallel=true",
	} {
		t.Run(id, func(t *testing.T) {
			envtest.Run(t, envtest.Suite{Make: func() (env.Env, error) { return o.Make(id, nil) }})
		})
	}
}

// wrapped: wrappers around an environment in Python do what they do around native ones.
func wrapped(t *testing.T, o *opened) {
	wrappers, err := env.Wrappers("concat_with_action,episode_tracking", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := env.Wrap(o.make(t, "python:guessing.py:Guess", nil), wrappers...)
	first, err := e.Reset(3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Step(`I think \boxed{99}.`)
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.TrimSuffix(first.Text, "Enter a guess.")
	if want := begin + "99\nTurn 1: lower\nEnter a guess."; s.Text != want {
		t.Errorf("the player sees %q, want %q", s.Text, want)
	}
	if s.Metrics["step_counter"] != 1 || s.Metrics["turn"] != 1 {
		t.Errorf("metrics %v", s.Metrics)
	}
}

// parameters: the numbers of a constructor are parameters, and the id's arguments reach it.
func parameters(t *testing.T, o *opened) {
	for id, want := range map[string]string{
		"python:gem:game:Guess-v0-easy":  "high=5 low=1 max_turns=3",
		"python:gem:game:Guess-v0-drawn": "high=drawn low=1 max_turns=4",
		"python:guessing.py:Guess":       "high=10 hints=1 low=1 max_turns=5",
	} {
		if s, err := o.Spec(id); err != nil || s.Params.String() != want {
			t.Errorf("%s has %v, %v; want %s", id, s.Params, err, want)
		}
	}
	for e, want := range map[env.Env]string{
		o.make(t, "python:guessing.py:Guess", env.Params{"max_turns": 1}):     "Guess from 1 to 10",
		o.make(t, "python:guessing.py:Guess?max_turns=1&high=12&low=11", nil): "Guess from 11 to 12",
	} {
		first, err := e.Reset(0)
		if err != nil || !strings.HasPrefix(first.Text, want) {
			t.Errorf("%q, %v; want %q", first.Text, err, want)
		}
		if s, err := e.Step(`\boxed{99}`); err != nil || !s.Truncated {
			t.Errorf("%+v, %v; want the end after one turn", s, err)
		}
	}
}

// rows: dataset= gives an environment the rows of a file, and wrappers= puts GEM's wrappers around it.
func rows(t *testing.T, o *opened) {
	e := o.make(t, "python:gem:math:Rows?dataset=rows.jsonl&wrappers=loud", nil)
	first, err := e.Reset(1)
	if err != nil || first.Text != "WHAT IS 4 + 4?" {
		t.Fatalf("%q, %v", first.Text, err)
	}
	s, err := e.Step(`\boxed{8}`)
	if err != nil || s.Reward != 1 || !s.Terminated || s.Metrics["correct"] != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// programs: programs that environments run get their input and are judged by their output and exit status, as
// outside of the host, however many run at once.
func programs(t *testing.T, o *opened) {
	rewards := map[string]float64{
		"a, b = map(int, input().split())\nprint(a + b)": 1, "print(-1)": 0, "print(": 0,
		"import sys\na, b = map(int, input().split())\nprint(a + b)\nsys.exit(3)":                              0,
		"import os\na, b = map(int, input().split())\nos.write(2, b'x' * 100_000)\nprint(a + b)":               1,
		"import os\na, b = map(int, input().split())\nprint(a + b if sorted(os.listdir('.')) == [] else 'no')": 1,
	}
	var wg sync.WaitGroup
	for program, want := range rewards {
		e := o.make(t, "python:programs.py:Programs", nil)
		wg.Go(func() {
			for seed := range uint64(2) {
				if _, err := e.Reset(seed); err != nil {
					t.Error(err)
					return
				}
				if s, err := e.Step(program); err != nil || s.Reward != want {
					t.Errorf("%q: reward %v, %v, want %v", program, s.Reward, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// refused: what cannot be an environment says what is wrong and what to do.
func refused(t *testing.T, o *opened) {
	for id, want := range map[string]string{
		"python:":                                 "write python:gem:ID",
		"python:nothing":                          "names no environment",
		"python:gem:":                             "names no environment",
		"python:guessing.py:Gess":                 "has no Gess; its classes are: Guess, Uncopied, Shared",
		"python:missing.py:Guess":                 "there is no file",
		"python:gem:game:Guess-v0-eesy":           "the nearest is game:Guess-v0-easy",
		"python:guessing.py:Guess?hi=2":           "unexpected keyword argument 'hi'",
		"python:guessing.py:Guess?a=1&a":          "gives a twice",
		"python:guessing.py:re":                   "not callable",
		"python:os:getcwd":                        "which has no reset",
		"python:gem:math:Rows?dataset=no.jsonl":   "no.jsonl",
		"python:faulty.py:UnsteadyUncopied":       "two resets",
		"python:guessing.py:Guess?parallel=maybe": "give true or false",
	} {
		if _, err := o.Make(id, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", id, err, want)
		}
	}
}

// unsteady: an environment that does not obey its seed is told of, and the repetitions of a task still begin alike.
func unsteady(t *testing.T, o *opened) {
	e := o.make(t, "python:faulty.py:Unsteady", nil)
	if !o.told("two resets of python:faulty.py:Unsteady with one seed do not begin alike") {
		t.Errorf("notes %q", o.notes)
	}
	if _, err := e.Reset(1); err != nil {
		t.Fatal(err)
	}
	f := e.Fork()
	for _, a := range []string{`\boxed{1}`, `\boxed{2}`, `\boxed{3}`} {
		x, err1 := e.Step(a)
		y, err2 := f.Step(a)
		if err1 != nil || err2 != nil || x.Text != y.Text {
			t.Fatalf("%q %v, a copy %q %v", x.Text, err1, y.Text, err2)
		}
		if x.Done() {
			break
		}
	}
}

// numPy: what an environment draws from numpy.random is decided by the seed, in the first episode of a process too.
func numPy(t *testing.T, o *opened) {
	if exec.Command(python.Find("", ""), "-c", "import numpy").Run() != nil {
		t.Skip("this Python has no numpy")
	}
	rolls, all := map[string]bool{}, make([]env.Env, 4) // in both processes
	for i := range all {
		all[i] = o.make(t, "python:dice.py:Dice", nil)
		begin(t, all[i], 5)
	}
	for _, e := range all {
		s, err := e.Step("roll")
		if err != nil {
			t.Fatal(err)
		}
		rolls[s.Text] = true
	}
	if len(rolls) != 1 {
		t.Errorf("one seed rolls %v", rolls)
	}
}

// noSeed: reset without a seed draws from the global random, which is seeded.
func noSeed(t *testing.T, o *opened) {
	e := o.make(t, "python:faulty.py:Silent", nil)
	a, err1 := e.Reset(5)
	b, err2 := e.Reset(5)
	c, err3 := e.Reset(6)
	if err := errors.Join(err1, err2, err3); err != nil || a.Text != b.Text || a.Text == c.Text {
		t.Errorf("%q, %q, %q, %v", a.Text, b.Text, c.Text, err)
	}
	if e.SampleAction(rand(1)) != "" {
		t.Error("it has no random player")
	}
	if _, err := e.Step("x"); err == nil || !strings.Contains(err.Error(), "the random player cannot play it") {
		t.Errorf("error %v", err)
	}
}
