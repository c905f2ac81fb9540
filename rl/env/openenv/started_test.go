package openenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder is an environment's folder, whose server is the test's program.
func folder(t *testing.T, how string) (id string, change func(*Options)) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "openenv.yaml"), []byte("app: server.app:app\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv(asServer, how)
	return Prefix + dir + "?" + game, func(o *Options) { o.Python = os.Args[0] }
}

// A folder's server is started, and ended with the source.
func TestStarted(t *testing.T) {
	id, change := folder(t, "well")
	var printed []string
	s, _ := sourceFor(t, change, func(o *Options) { o.Output = func(line string) { printed = append(printed, line) } })
	e := makeEnv(t, s, id)
	if _, err := e.Reset(1); err != nil {
		t.Fatal(err)
	}
	if step, err := e.Step(`\boxed{6}`); err != nil || step.Reward != 1 {
		t.Errorf("%+v, error %v", step, err)
	}
	server := s.kinds[id].servers[0].kept.Current()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-server.Done():
	default:
		t.Error("the server goes on")
	}
	want := "starting -m uvicorn server.app:app --host 127.0.0.1 --port "
	if len(printed) == 0 || !strings.HasPrefix(printed[0], want) ||
		!strings.Contains(printed[0], "--workers 1 --log-level warning 256 ") {
		t.Errorf("it printed %q", printed)
	}
}

// Several servers share the episodes.
func TestStartedTwice(t *testing.T) {
	id, change := folder(t, "well")
	s, _ := sourceFor(t, change)
	id += "&servers=2"
	for range 4 {
		e := makeEnv(t, s, id)
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		defer e.Step("x")
	}
	for i, p := range s.kinds[id].servers {
		if n := s.kinds[id].pool.endpoints[i].open; p.kept.Current() == nil || n != 2 {
			t.Errorf("server %d has %d sessions, want 2", i, n)
		}
	}
}

// A server that dies is started again, and its episode goes on. One that always dies is given up.
func TestStartedDies(t *testing.T) {
	id, change := folder(t, "dies")
	s, heard := sourceFor(t, change)
	s.pause = []time.Duration{0, 300 * time.Millisecond, 300 * time.Millisecond} // a process takes a while to end
	e := makeEnv(t, s, id)
	if _, err := e.Reset(1); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step(`\boxed{1}`); err != nil {
		t.Fatal(err)
	}
	_, err := e.Step(`\boxed{2}`) // its replay takes the one step that a life has
	if err == nil {
		t.Error("an episode of two steps was played on a server that dies in the second")
	}
	want := "died: exit status 3; it printed last:\nstarting -m uvicorn"
	if len(heard.notes) == 0 || !strings.Contains(heard.notes[0], want) ||
		!strings.Contains(heard.notes[0], "It is started again") {
		t.Errorf("the notes are %q", heard.notes)
	}
	for i := 0; err != nil && !strings.Contains(err.Error(), "3 times without playing an episode to its end"); i++ {
		if i == 5 {
			t.Fatalf("it is started again and again: %v", err)
		}
		if _, err = e.Reset(1); err == nil {
			e.Step(`\boxed{1}`)
			_, err = e.Step(`\boxed{2}`)
		}
	}
}

// A server that cannot start says why and what to do; one that never answers is given up.
func TestStartedNot(t *testing.T) {
	for how, c := range map[string]struct{ more, want string }{
		"missing": {"", "Install what it needs (pip install openenv"},
		"hangs":   {"&start_timeout=0.3", "does not answer /health within 300ms; start_timeout=SECONDS"},
	} {
		id, change := folder(t, how)
		s, _ := sourceFor(t, change)
		if _, err := s.Spec(id + c.more); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", how, err, c.want)
		}
	}
}
