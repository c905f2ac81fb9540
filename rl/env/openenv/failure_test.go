package openenv

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// after changes the n-th answer to a step, counted over all sessions that play; the sessions of the trial are 0 and 1.
func after(n int, change func(answer string) (string, openenvtest.Fate)) openenvtest.Options {
	return openenvtest.Options{Alter: func(session, message int, asked, answer string) (string, openenvtest.Fate) {
		if session > 1 && strings.Contains(asked, `"step"`) {
			if n--; n < 0 {
				return change(answer)
			}
		}
		return answer, openenvtest.Send
	}}
}

// Whatever a server does wrong is an error that says what to do, and never a reward.
func TestFailures(t *testing.T) {
	always := func(text string) func(string) (string, openenvtest.Fate) {
		return func(string) (string, openenvtest.Fate) { return text, openenvtest.Send }
	}
	for name, c := range map[string]struct {
		o    openenvtest.Options
		id   string
		want []string
	}{
		"raises": {after(1,
			always(`{"type":"error","data":{"message":"division by zero","code":"EXECUTION_ERROR"}}`)), "",
			[]string{"step 2: the server answers EXECUTION_ERROR: division by zero"}},
		"garbage": {after(1, always(`<html>`)), "", []string{"step 2", "not a message of OpenEnv", `"<html>"`}},
		"the answer to something else": {after(1, always(`{"type":"state","data":{}}`)), "",
			[]string{"step 2", "an observation was asked for"}},
		"a reward that is no number": {after(1,
			always(`{"type":"observation","data":{"observation":{},"reward":"much","done":false}}`)), "",
			[]string{"step 2", `the reward "much" is not a finite number`}},
		"another observation than declared": {after(1,
			always(`{"type":"observation","data":{"observation":{"board":1},"reward":1,"done":false}}`)), "",
			[]string{"step 2", `the observation has no "text"; it has board; correct show or first`}},
		"hangs": {after(1, func(string) (string, openenvtest.Fate) { return "", openenvtest.Hang }), "&timeout=0.05",
			[]string{"step 2", "did not answer the step within 50ms; timeout=SECONDS"}},
		"dies and never comes back": {after(1,
			func(string) (string, openenvtest.Fate) { return "", openenvtest.Drop }), "",
			[]string{"step 2", "the session was lost"}},
		"too much": {after(1, always(`{"type":"observation","data":{"observation":{"text":"`+
			strings.Repeat("x", 2<<20)+`"},"reward":1,"done":false}}`)), "&max_message=1",
			[]string{"step 2", "a message of more than 1 MiB; max_message=MIB"}},
		"too many values": {after(1, always(`{"type":"observation","data":{"observation":{"text":"","x":[`+
			strings.Repeat("{},", 10000)+`0]},"reward":1,"done":false}}`)), "&max_message=1",
			[]string{"step 2", "a message of more than 65536 values; max_message=MIB"}},
		"a schema that does not hold": {after(1, always(`{"type":"error","data":{"message":"Invalid message","code":`+
			`"VALIDATION_ERROR","errors":[{"type":"missing","loc":["move"],"msg":"Field required"}]}}`)), "",
			[]string{"step 2", "refuses an action that its own /schema allows", "move: Field required"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := openenvtest.Start(t, c.o)
			s, heard := sourceFor(t)
			e := makeEnv(t, s, server.ID(game+c.id))
			if _, err := e.Reset(1); err != nil {
				t.Fatal(err)
			}
			var err error
			for range 2 {
				if _, err = e.Step(`\boxed{1}`); err != nil {
					break
				}
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			if _, err := e.Step(`\boxed{1}`); err != env.ErrOver {
				t.Errorf("after a failed step the error is %v", err)
			}
			if len(heard.failed) != 1 || len(heard.episodes) != 1 || heard.episodes[0].End != "failed" {
				t.Errorf("told of %q and %d episodes", heard.failed, len(heard.episodes))
			}
		})
	}
}

// A lost session is replaced: the episode is played again and goes on as if nothing had been.
func TestLost(t *testing.T) {
	for name, fate := range map[string]openenvtest.Fate{"cut": openenvtest.Drop, "half open": openenvtest.Freeze} {
		t.Run(name, func(t *testing.T) {
			once := false
			server := openenvtest.Start(t, after(1, func(answer string) (string, openenvtest.Fate) {
				if once {
					return answer, openenvtest.Send
				}
				once = true
				return answer, fate
			}))
			s, heard := sourceFor(t, func(o *Options) { o.Ping = 30 * time.Millisecond })
			e := makeEnv(t, s, server.ID(game))
			if _, err := e.Reset(1); err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{"At turn 1, you guessed 1", "At turn 2, you guessed 2", "Congratulations!"} {
				step, err := e.Step(fmt.Sprintf(`\boxed{%d}`, []int{1, 2, 6}[i]))
				if err != nil || !strings.HasPrefix(step.Text, want) {
					t.Fatalf("step %d: %q, error %v, want %q", i+1, step.Text, err, want)
				}
			}
			if len(heard.episodes) != 1 || heard.episodes[0].Replays != 1 {
				t.Errorf("the record has %+v", heard.episodes)
			}
		})
	}
}

// A server that says something else when an episode is played again is found out.
func TestLostAndAnother(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{
		Alter: func(session, message int, asked, answer string) (string, openenvtest.Fate) {
			switch {
			case session == 2 && strings.Contains(asked, `{2}`): // the first session after those of the trial
				return "", openenvtest.Drop
			case session > 2 && strings.Contains(asked, `{1}`):
				return strings.Replace(answer, "higher", "lower", 1), openenvtest.Send
			}
			return answer, openenvtest.Send
		}})
	s, _ := sourceFor(t)
	e := makeEnv(t, s, server.ID(game))
	e.Reset(1)
	if _, err := e.Step(`\boxed{1}`); err != nil {
		t.Fatal(err)
	}
	drop := func() error { _, err := e.Step(`\boxed{2}`); return err }
	want := "played again from seed 1, action 1 of 1 is answered in another way"
	if err := drop(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A server that ignores seeds is told of with what to do, or refused; its lost episodes fail.
func TestSeedless(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{Seedless: true,
		Alter: func(_, _ int, asked, answer string) (string, openenvtest.Fate) {
			if strings.Contains(asked, `{2}`) {
				return "", openenvtest.Drop
			}
			return answer, openenvtest.Send
		}})
	s, heard := sourceFor(t)
	unsteady := false
	for i := 0; i < 20 && !unsteady; i++ { // by chance the draws of two games are alike
		spec, err := s.Spec(server.ID(fmt.Sprintf("%s&max_turns=%d", game, 4+i)))
		if err != nil {
			t.Fatal(err)
		}
		unsteady = spec.Unsteady
		if !unsteady {
			continue
		}
		want := "with seed 1, two resets"
		if len(heard.notes) == 0 || !strings.Contains(heard.notes[len(heard.notes)-1], want) ||
			!strings.Contains(heard.notes[len(heard.notes)-1], "let reset draw everything from its argument") {
			t.Errorf("the notes are %q", heard.notes)
		}
		e := makeEnv(t, s, spec.ID)
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Step(`\boxed{2}`); err == nil || !strings.Contains(err.Error(), "the session was lost") {
			t.Errorf("a lost episode: %v", err)
		}
	}
	if !unsteady {
		t.Error("20 servers without seeds were not found out")
	}
	var err error
	for i := 0; i < 20 && err == nil; i++ { // each looks again
		_, err = s.Spec(server.ID(fmt.Sprintf("%s&max_turns=%d&strict_seed=true", game, 4+i)))
	}
	if err == nil || !strings.Contains(err.Error(), "It is refused, as strict_seed is true") {
		t.Errorf("strict_seed: %v", err)
	}
}

// A seed that decides the first observation and not what is hidden behind it, such as the word of Wordle, is found out
// by an action.
func TestSeedlessBehind(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{
		Alter: func(session, _ int, asked, answer string) (string, openenvtest.Fate) {
			if strings.Contains(asked, `"step"`) {
				answer = strings.Replace(answer, "guessed", fmt.Sprintf("guessed with %d right", session), 1)
			}
			return answer, openenvtest.Send
		}})
	s, heard := sourceFor(t)
	spec, err := s.Spec(server.ID(game))
	want := "with seed 1, two resets begin alike, and one action is answered in two ways: …"
	if err != nil || !spec.Unsteady || len(heard.notes) != 1 || !strings.Contains(heard.notes[0], want) {
		t.Errorf("unsteady %v, error %v, notes %q; want %q", spec.Unsteady, err, heard.notes, want)
	}
}

// A list of tasks that becomes shorter is found out, and the message names both lengths.
func TestShrinks(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, _ := sourceFor(t)
	id := server.ID(game + "&split=train")
	e := makeEnv(t, s, id, env.Params{"task": 5})
	server.Train.Store(4)
	_, err := e.Reset(1)
	want := "the server had 8 tasks when the run began and has 4 now"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// says answers every request alike.
func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// What is no OpenEnv server is refused at the start.
func TestNoServer(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"another program": {http.NotFound, "answers 404 Not Found: 404 page not found; is it an OpenEnv server?"},
		"garbage":         {says("hello"), "not a message of OpenEnv"},
		"no action":       {says("{}"), "/schema has no action"},
		"no WebSocket": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/schema" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, `{"action":{"title":"A","properties":{"message":{"type":"string"}},"required":["message"]}}`)
		}, "answers 404 Not Found instead of opening a WebSocket; is it an OpenEnv server?"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(c.answer))
			defer server.Close()
			s, _ := sourceFor(t)
			_, err := s.Spec("openenv:" + server.URL)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A server that cannot make its environment says so.
func TestFactory(t *testing.T) {
	for _, from := range []int{0, 1} { // the sessions of the trial
		server := openenvtest.Start(t, openenvtest.Options{
			Alter: func(session, _ int, _, answer string) (string, openenvtest.Fate) {
				if session < from {
					return answer, openenvtest.Send
				}
				return `{"type":"error","data":{"message":"Failed to create environment","code":"FACTORY_ERROR",` +
					`"factory_name":"Threes"}}`, openenvtest.Send
			}})
		s, _ := sourceFor(t)
		_, err := s.Spec(server.ID(game))
		want := `FACTORY_ERROR: Failed to create environment (factory "Threes")`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("session %d: error %v", from, err)
		}
	}
}

// An episode that waits for a session ends with the run.
func TestCloseWhileWaiting(t *testing.T) {
	server, waits := openenvtest.Start(t, openenvtest.Options{Max: 1}), make(chan struct{})
	s, _ := sourceFor(t, func(o *Options) {
		o.Note = func(text string) {
			if strings.Contains(text, "further ones wait") {
				close(waits)
			}
		}
	})
	first := makeEnv(t, s, server.ID(game))
	if _, err := first.Reset(1); err != nil {
		t.Fatal(err)
	}
	second := makeEnv(t, s, server.ID(game))
	failed := make(chan error)
	go func() {
		_, err := second.Reset(1)
		failed <- err
	}()
	<-waits
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the episode began")
	}
	if _, err := first.Step(`\boxed{1}`); err == nil {
		t.Error("an episode goes on after Close")
	}
}
