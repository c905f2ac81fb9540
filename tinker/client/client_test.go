package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A submit is repeated at the times the SDK's rules give, under one idempotency key and one number.
// After five minutes an unreachable server is an error that says so.
// Errors of the account and of names come at once and name the remedy.
// An archive's address may be a redirection, which is not followed: the key must not be sent to another server.
func TestArchiveRedirect(t *testing.T) {
	to := answer{status: 302, header: http.Header{"Location": {"https://storage/x.tar?signed"}}}
	scripted(t, map[string][]answer{"/training_runs/s:train:0/checkpoints/weights/x/archive": {{status: 503}, to}}, nil,
		func(t *testing.T, c *Client, s *script) {
			if at, err := c.ArchiveURL(t.Context(), "tinker://s:train:0/weights/x"); err != nil ||
				at != "https://storage/x.tar?signed" {
				t.Errorf("%s, %v", at, err)
			}
		})
	scripted(t, map[string][]answer{"/get_server_capabilities": {to}}, nil, func(t *testing.T, c *Client, s *script) {
		if _, err := c.Capabilities(t.Context()); err == nil || !strings.Contains(err.Error(), "302 Found") {
			t.Errorf("a redirected call: %v", err)
		}
	})
}

// 402 pauses a run for as long as the server's settings allow, and the user is notified once a minute.
func TestBilling(t *testing.T) {
	blocked := answer{status: 402, body: `{"detail": "card expired"}`}
	var notices []Pause
	listen := func(o *Options) { notices = nil; o.Paused = func(p Pause) { notices = append(notices, p) } }
	scripted(t, map[string][]answer{"/optim_step": {blocked, blocked, ok(`{"request_id": "r"}`)}}, listen,
		func(t *testing.T, c *Client, s *script) {
			m, begin := newModel(t, c), time.Now()
			if _, err := step(t, m, 0); err != nil || time.Since(begin) != 10*time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			if !slices.Equal(notices, []Pause{{Billing, "card expired"}, {State: Active}}) {
				t.Errorf("notices %v", notices)
			}
		})
	config := []answer{ok(`{"billing_exception_max_pause_duration_sec": 120}`)}
	scripted(t, map[string][]answer{"/client/config": config, "/optim_step": {blocked}}, listen,
		func(t *testing.T, c *Client, s *script) {
			m, begin := newModel(t, c), time.Now()
			if _, err := step(t, m, 0); err == nil || !strings.Contains(err.Error(),
				"fix the account's billing") || time.Since(begin) != 2*time.Minute {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			if len(notices) != 3 { // at 0 and 60 s, and at the end
				t.Errorf("notices %v", notices)
			}
		})
}

// The answers to a poll and their results.
// While the server reports a request as waiting, the user is notified with the reason.
// A request that a busy server refused is repeated after a second; a lost sample is requested under a new number.
// No more samples are in flight than the server allows.
// Close ends the calls in flight, and every later call returns ErrClosed.
func TestClose(t *testing.T) {
	scripted(t, nil, nil, func(t *testing.T, c *Client, s *script) {
		m, sampler := newModel(t, c), newSampler(t, c)
		s.answers["/retrieve_future"] = []answer{{hang: true}}
		s.answers["/save_weights"] = []answer{{}}
		f, err := m.OptimStep(t.Context(), tinker.OptimStepRequest{})
		if err != nil {
			t.Fatal(err)
		}
		saved := make(chan error)
		go func() {
			_, err := m.SaveState(t.Context(), tinker.SaveRequest{Name: "x"})
			saved <- err
		}()
		time.Sleep(3 * time.Second)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_, e1 := f.Wait(t.Context())
		_, e2 := step(t, m, 0)
		_, e3 := draw(t, sampler)
		_, e4 := c.CreateModel(t.Context(), tinker.CreateModelRequest{})
		for i, err := range []error{e1, <-saved, e2, e3, e4} {
			if !errors.Is(err, tinker.ErrClosed) {
				t.Errorf("call %d after Close: %v", i, err)
			}
		}
	})
}

// A session has a heartbeat every ten seconds; after two minutes without an answer the user is warned, once.
func TestHeartbeat(t *testing.T) {
	var said []string
	listen := func(o *Options) { o.Log = func(msg string) { said = append(said, msg) } }
	beats := append(slices.Repeat([]answer{ok(`{}`)}, 3), answer{status: 503})
	welcome := []answer{ok(`{"session_id": "s", "warning_message": "maintenance tonight"}`)}
	scripted(t, map[string][]answer{"/create_session": welcome, "/session_heartbeat": beats}, listen,
		func(t *testing.T, c *Client, s *script) {
			newSampler(t, c)
			time.Sleep(5*time.Minute + time.Second)
			got := s.to("/session_heartbeat")
			if len(got) != 30 || got[0].at != 10*time.Second || got[0].body["session_id"] != "s" {
				t.Errorf("%d heartbeats, the first at %v of %v", len(got), got[0].at, got[0].body)
			}
			if len(said) != 2 || said[0] != "the server says: maintenance tonight" ||
				!strings.Contains(said[1], "no heartbeat") {
				t.Errorf("said %q", said)
			}
		})
}

// The key is exchanged if the server requires it, and the token five minutes before it expires; a failed exchange
// keeps the old one.
// A key that no server accepts is refused before anything is sent.
// A command returns the credential if there is no key or if the server requires it, and is run again for every token.
// A named session is opened once and reported; a process that knows its id finds the model in its current state.
// Requests of all goroutines are submitted one at a time and numbered in the order of the calls.
// A sample whose caller is gone ends with the caller's error and leaves its place to others, and the server is told.
