package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A submit is repeated at the times the SDK's rules give, under one idempotency key and one number.
func TestRepeats(t *testing.T) {
	busy := answer{status: 503, body: `{"detail": "starting"}`}
	for _, tt := range []struct {
		name    string
		answers []answer
		times   []time.Duration // latest time of each attempt; up to a quarter of each wait is random
		want    string          // of the error; empty is success
	}{
		{"at once", []answer{ok(`{"request_id": "r"}`)}, seconds(0), ""},
		{"busy twice", []answer{busy, busy, ok(`{"request_id": "r"}`)}, seconds(0, 0.5, 1.5), ""},
		{"no connection", []answer{{}, {}, {}, ok(`{"request_id": "r"}`)}, seconds(0, 0.5, 1.5, 3.5), ""},
		{"as the server asks", []answer{{status: 503, header: http.Header{"Retry-After": {"7"}}},
			ok(`{"request_id": "r"}`)}, seconds(0, 7), ""},
		{"conflict that passes", []answer{{status: 409}, ok(`{"request_id": "r"}`)}, seconds(0, 0.5), ""},
		{"told not to", []answer{{status: 503, body: `{"detail": "gone for good"}`,
			header: http.Header{"X-Should-Retry": {"false"}}}}, seconds(0), "gone for good"},
		{"400 from in between", []answer{{status: 400}, ok(`{"request_id": "r"}`)}, seconds(0, 0.5), ""},
		{"400", []answer{{status: 400, body: `{"detail": "bad rank"}`}}, seconds(0), "bad rank"},
		{"422 with a list", []answer{{status: 422, body: `{"detail": [{"msg": "seq_id"}]}`}}, seconds(0),
			`[{"msg":"seq_id"}]`},
		{"no request_id", []answer{ok(`{}`)}, seconds(0), "without a request_id"},
		{"not JSON", []answer{ok(`<html>`)}, seconds(0), "not what the protocol says"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, map[string][]answer{"/optim_step": tt.answers}, nil, func(t *testing.T, c *Client, s *script) {
				m := newModel(t, c)
				begin := time.Since(s.start)
				_, err := step(t, m, 0)
				if tt.want == "" && err != nil || tt.want != "" &&
					(err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				got := s.to("/optim_step")
				if len(got) != len(tt.times) {
					t.Fatalf("%d attempts, want %d", len(got), len(tt.times))
				}
				for i, r := range got {
					at, latest := r.at-begin, tt.times[i]
					if at > latest || at < latest*3/4 {
						t.Errorf("attempt %d after %v, want between %v and %v", i, at, latest*3/4, latest)
					}
					if r.idem != got[0].idem || r.idem == "" || r.body["seq_id"] != 1.0 {
						t.Errorf("attempt %d: key %q, seq_id %v", i, r.idem, r.body["seq_id"])
					}
				}
			})
		})
	}
}

func seconds(list ...float64) []time.Duration {
	d := make([]time.Duration, len(list))
	for i, s := range list {
		d[i] = time.Duration(s * float64(time.Second))
	}
	return d
}

// After five minutes an unreachable server is an error that says so.
func TestGivesUp(t *testing.T) {
	scripted(t, map[string][]answer{"/optim_step": {{}}}, nil, func(t *testing.T, c *Client, s *script) {
		m := newModel(t, c)
		begin := time.Now()
		_, err := step(t, m, 0)
		if tinker.CategoryOf(err) != tinker.Server || !strings.Contains(err.Error(), "no answer from http://server") {
			t.Errorf("error %v", err)
		}
		if d := time.Since(begin); d < 5*time.Minute || d > 8*time.Minute {
			t.Errorf("gave up after %v", d)
		}
	})
}

// Errors of the account and of names come at once and name the remedy.
func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		status   int
		category tinker.Category
		is       error
		text     string
	}{
		{401, tinker.User, nil, "does not accept the API key from TINKER_API_KEY"},
		{403, tinker.User, nil, "has no right to this"},
		{404, tinker.User, tinker.ErrNotFound, "no such checkpoint"},
	} {
		path := "/training_runs/s:train:0/checkpoints/weights/x"
		scripted(t, map[string][]answer{path: {{status: tt.status, body: `{"detail": "no such checkpoint"}`}}}, nil,
			func(t *testing.T, c *Client, s *script) {
				err := c.DeleteCheckpoint(t.Context(), "tinker://s:train:0/weights/x")
				if tinker.CategoryOf(err) != tt.category || tt.is != nil && !errors.Is(err, tt.is) ||
					!strings.Contains(fmt.Sprint(err), tt.text) {
					t.Errorf("%d: %v of category %s", tt.status, err, tinker.CategoryOf(err))
				}
				var status *StatusError
				if n := len(s.to(path)); n != 1 || !errors.As(err, &status) || status.Status != tt.status {
					t.Errorf("%d: %d attempts, %#v", tt.status, n, status)
				}
			})
	}
	scripted(t, map[string][]answer{"/save_weights": {{status: 409, body: `{"detail": "checkpoint name exists"}`}}},
		nil, func(t *testing.T, c *Client, s *script) {
			_, err := newModel(t, c).SaveState(t.Context(), tinker.SaveRequest{Name: "x"})
			if !errors.Is(err, tinker.ErrExists) || tinker.CategoryOf(err) != tinker.User ||
				len(s.to("/save_weights")) != 1 {
				t.Errorf("a taken name: %v after %d attempts", err, len(s.to("/save_weights")))
			}
		})
}

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
func TestPoll(t *testing.T) {
	done := ok(`{"metrics": {"grad_norm": 1}}`)
	for _, tt := range []struct {
		name    string
		answers []answer
		polls   int
		atLeast time.Duration
		want    string
	}{
		{"done", []answer{done}, 1, 0, ""},
		{"408 and try_again", []answer{{status: 408, body: `{"queue_state": "active"}`},
			ok(`{"type": "try_again", "request_id": "r"}`), done}, 3, 150 * time.Millisecond, ""},
		{"answers in two steps", []answer{ok(`{"status": "complete_metadata", "response_payload_size": 3}`), done}, 2,
			0, ""},
		{"no answer for 45 s", []answer{{hang: true}, done}, 2, 46 * time.Second, ""},
		{"no connection, three times", []answer{{}, {}, {}, done}, 4, 7 * time.Second, ""},
		{"429, three times", []answer{{status: 429}, {status: 429}, {status: 429}, done}, 4, 7 * time.Second, ""},
		{"500 over and over", append(slices.Repeat([]answer{{status: 500}}, 20), done), 21, 30 * time.Second, ""},
		{"400, three times", []answer{{status: 400, body: "x"}, {status: 400, body: "x"}, {status: 400, body: "x"},
			done}, 4, 0, ""},
		{"400, four times", []answer{{status: 400, body: "no"}}, 4, 0, "400 Bad Request: no"},
		{"402", []answer{{status: 402}, done}, 2, 5 * time.Second, ""},
		{"404", []answer{{status: 404}}, 1, 0, "404 Not Found"},
		{"410", []answer{{status: 410}}, 1, 0, "the server lost the result"},
		{"an error of the user", []answer{ok(`{"error": "datum 1: NaN", "category": "user"}`)}, 1, 0, "datum 1: NaN"},
		{"an error that is null", []answer{ok(`{"error": null}`)}, 1, 0, "client: OptimStep: null"},
		{"no object", []answer{ok(`null`)}, 1, 0, "not a JSON object: null"},
		{"protobuf", []answer{{status: 200, proto: []byte{}}}, 1, 0, "JSON was requested"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripted(t, nil, nil, func(t *testing.T, c *Client, s *script) {
				m := newModel(t, c)
				s.answers["/retrieve_future"] = tt.answers
				before, begin := len(s.to("/retrieve_future")), time.Now()
				out, err := step(t, m, 0)
				if tt.want == "" && (err != nil || out.Metrics["grad_norm"] != 1) ||
					tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%v, error %v; want %q", out, err, tt.want)
				}
				if n := len(s.to("/retrieve_future")) - before; n != tt.polls {
					t.Errorf("%d polls, want %d", n, tt.polls)
				}
				if d := time.Since(begin); d < tt.atLeast || d > tt.atLeast*3+10*time.Second {
					t.Errorf("it took %v, want about %v", d, tt.atLeast)
				}
			})
		})
	}
	scripted(t, nil, nil, func(t *testing.T, c *Client, s *script) {
		m := newModel(t, c)
		for text, category := range map[string]tinker.Category{
			`{"error": "checkpoint tinker://x not found", "category": "user"}`: tinker.User,
			`{"error": "it is not found", "category": "server"}`:               tinker.Server,
			`{"error": "not found at all", "category": "?"}`:                   tinker.Unknown,
		} {
			s.answers["/retrieve_future"] = []answer{ok(text)}
			if _, err := step(t, m, 0); tinker.CategoryOf(err) != category || !errors.Is(err, tinker.ErrNotFound) {
				t.Errorf("%s: %v of category %s", text, err, tinker.CategoryOf(err))
			}
		}
	})
}

// While the server reports a request as waiting, the user is notified with the reason.
func TestPaused(t *testing.T) {
	var notices []Pause
	listen := func(o *Options) { o.Paused = func(p Pause) { notices = append(notices, p) } }
	scripted(t, nil, listen, func(t *testing.T, c *Client, s *script) {
		m := newModel(t, c)
		full := answer{status: 408,
			body: `{"queue_state": "paused_capacity", "queue_state_reason": "no machine is free"}`}
		s.answers["/retrieve_future"] = append(slices.Repeat([]answer{full}, 5), ok(`{}`))
		if _, err := step(t, m, 0); err != nil || !slices.Equal(notices,
			[]Pause{{Capacity, "no machine is free"}, {State: Active}}) {
			t.Errorf("notices %v, %v", notices, err)
		}
	})
}

// A request that a busy server refused is repeated after a second; a lost sample is requested under a new number.
func TestSampling(t *testing.T) {
	done := answer{status: 200,
		proto: wire.EncodeSample(
			tinker.SampleResponse{Sequences: []tinker.SampledSequence{
				{Tokens: []int32{5}, Logprobs: []float32{-1}, StopReason: tinker.StopStop}}})}
	busy := answer{status: 429, body: `{"detail": "queue full"}`}
	scripted(t, map[string][]answer{"/asample": {busy, busy, ok(`{"request_id": "r"}`)},
		"/retrieve_future": {{status: 410}, {status: 408}, done}}, nil,
		func(t *testing.T, c *Client, s *script) {
			sampler, begin := newSampler(t, c), time.Since(s.start)
			out, err := draw(t, sampler)
			if err != nil || out.Sequences[0].Tokens[0] != 5 {
				t.Fatalf("%+v, %v", out, err)
			}
			got := s.to("/asample")
			if len(got) != 4 || got[1].at-begin != time.Second || got[2].at-begin != 2*time.Second {
				t.Fatalf("asked at %+v", got)
			}
			for i, seq := range []float64{0, 0, 0, 1} {
				if got[i].body["seq_id"] != seq {
					t.Errorf("request %d has seq_id %v, want %v", i, got[i].body["seq_id"], seq)
				}
			}
			p := tinker.DefaultSampling()
			p.StopStrings, p.StopTokens = []string{"x"}, []int32{1}
			for _, r := range []tinker.SampleRequest{{Params: p}, {Params: tinker.SamplingParams{MaxTokens: -1}}} {
				if _, err := sampler.Sample(t.Context(), r); tinker.CategoryOf(err) != tinker.User {
					t.Errorf("%+v: %v", r.Params, err)
				}
			}
		})
}

// No more samples are in flight than the server allows.
func TestSamplesInFlight(t *testing.T) {
	config := []answer{ok(`{"sample_max_concurrent_requests": 3}`)}
	scripted(t, map[string][]answer{"/client/config": config, "/retrieve_future": {{hang: true}}}, nil,
		func(t *testing.T, c *Client, s *script) {
			sampler := newSampler(t, c)
			for range 10 {
				go draw(t, sampler)
			}
			time.Sleep(10 * time.Second)
			if n := len(s.to("/asample")); n != 3 {
				t.Errorf("%d samples were sent, want 3", n)
			}
		})
}

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
func TestToken(t *testing.T) {
	token := func(exp time.Time) string {
		claims := fmt.Sprintf(`{"exp": %d}`, exp.Unix())
		return "eyJ." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	var first, second string
	config := []answer{ok(`{"pjwt_auth_enabled": true}`)}
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of synctest
	first, second = token(start.Add(20*time.Minute)), token(start.Add(time.Hour))
	tokens := []answer{ok(`{"jwt": "` + first + `"}`), {status: 503}, ok(`{"jwt": "` + second + `"}`)}
	scripted(t, map[string][]answer{"/client/config": config, "/auth/token": tokens}, nil,
		func(t *testing.T, c *Client, s *script) {
			for _, at := range []time.Duration{0, 14 * time.Minute, 15*time.Minute + time.Second,
				15*time.Minute + 30*time.Second, 17 * time.Minute} {
				time.Sleep(at - time.Since(s.start))
				if _, err := c.Capabilities(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var keys []string
			for _, r := range s.to("/get_server_capabilities") {
				keys = append(keys, r.key)
			}
			if want := []string{first, first, first, first, second}; !slices.Equal(keys, want) {
				t.Errorf("keys %q, want %q", keys, want)
			}
			exchanges := s.to("/auth/token")
			if len(exchanges) != 3 || exchanges[2].key != "tml-key" || exchanges[2].at != 17*time.Minute {
				t.Errorf("exchanges %+v", exchanges)
			}
		})
}

// A key that no server accepts is refused before anything is sent.
func TestKey(t *testing.T) {
	for key, text := range map[string]string{"": "set MY_KEY", "sk-123": "MY_KEY does not begin with tml-"} {
		_, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1", APIKey: key, KeyName: "MY_KEY"})
		if tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), text) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// A command returns the credential if there is no key or if the server requires it, and is run again for every token.
func TestCredentialCommand(t *testing.T) {
	if _, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1",
		Credential: Command("echo no login >&2; false")}); err == nil || !strings.Contains(err.Error(), "no login") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1",
		Credential: Command("echo hello")}); err == nil ||
		!strings.Contains(err.Error(), "credential command's output") {
		t.Errorf("a command that prints no key: %v", err)
	}
	for _, tt := range []struct{ key, config, exchanged, config0 string }{
		{"", `{"pjwt_auth_enabled": true}`, "tml-2", "tml-1"},
		{"tml-key", `{"pjwt_auth_enabled": true}`, "tml-key", "tml-key"},
		{"tml-key", `{"pjwt_auth_enabled": true, "credential_default_source": "credential_cmd"}`, "tml-1", "tml-key"},
	} {
		asked := 0
		use := func(o *Options) {
			o.APIKey = tt.key
			o.Credential = func(context.Context) (string, error) { asked++; return fmt.Sprintf("tml-%d", asked), nil }
		}
		answers := map[string][]answer{"/client/config": {ok(tt.config)}, "/auth/token": {ok(`{"jwt": "eyJ.e30.x"}`)}}
		scripted(t, answers, use, func(t *testing.T, c *Client, s *script) {
			if got := s.to("/auth/token"); len(got) != 1 || got[0].key != tt.exchanged ||
				s.to("/client/config")[0].key != tt.config0 {
				t.Errorf("key %q, %s: exchanged %+v; config was asked for with %q", tt.key, tt.config, got,
					s.to("/client/config")[0].key)
			}
		})
	}
}

// A named session is opened once and reported; a process that knows its id finds the model in its current state.
func TestComeBack(t *testing.T) {
	req := tinker.CreateModelRequest{SessionID: "job", ModelSeqID: 2, BaseModel: "m", LoRA: tinker.LoRA{Rank: 4}}
	known := map[string]string{}
	remember := func(o *Options) {
		o.OnSession = func(name, id string) error { known[name] = id; return nil }
		o.Sessions = known
	}
	scripted(t, nil, remember, func(t *testing.T, c *Client, s *script) {
		a, err := c.CreateModel(t.Context(), req)
		b, err2 := c.CreateModel(t.Context(), req)
		if err != nil || err2 != nil || a != b || known["job"] != "s" || len(s.to("/create_session")) != 1 {
			t.Errorf("%v, %v, sessions %v", err, err2, known)
		}
	})
	scripted(t, map[string][]answer{"/get_info": {ok(`{"next_seq_id": 7}`), ok(`{}`)}}, remember,
		func(t *testing.T, c *Client, s *script) {
			m, err := c.CreateModel(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := step(t, m, 0); err != nil {
				t.Error(err)
			}
			if len(s.to("/create_session")) != 0 || s.to("/create_model")[0].body["session_id"] != "s" ||
				s.to("/optim_step")[0].body["seq_id"] != 7.0 {
				t.Errorf("the server saw %+v", s.seen)
			}
			if _, err = c.CreateModel(t.Context(), req); err == nil ||
				!strings.Contains(err.Error(), "create a model from a saved state") {
				t.Errorf("a server that does not report the model's seq_id: %v", err)
			}
		})
}

// Requests of all goroutines are submitted one at a time and numbered in the order of the calls.
func TestTurns(t *testing.T) {
	slow := answer{status: 503} // the first is repeated while the others wait
	scripted(t, map[string][]answer{"/optim_step": {slow, slow, ok(`{"request_id": "r"}`)}}, nil,
		func(t *testing.T, c *Client, s *script) {
			m := newModel(t, c)
			done := make(chan error)
			for range 5 {
				go func() { _, err := step(t, m, 0); done <- err }()
			}
			for range 5 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			var order []float64
			for _, r := range s.to("/optim_step") {
				order = append(order, r.body["seq_id"].(float64))
			}
			if want := []float64{1, 1, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
				t.Errorf("sent %v, want %v", order, want)
			}
		})
}

// A sample whose caller is gone ends with the caller's error and leaves its place to others, and the server is told.
func TestSampleWithoutCaller(t *testing.T) {
	config := []answer{ok(`{"sample_max_concurrent_requests": 1}`)}
	scripted(t, map[string][]answer{"/client/config": config, "/retrieve_future": {{hang: true}},
		"/asample": {ok(`{"request_id": "first"}`), ok(`{"request_id": "second"}`)}, "/cancel_future": {{status: 404}}},
		nil, func(t *testing.T, c *Client, s *script) {
			sampler, gone := newSampler(t, c), errors.New("the caller is gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			f, err := sampler.Sample(ctx, tinker.SampleRequest{Params: tinker.DefaultSampling()})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(3*time.Second, func() { cancel(gone) })
			begin := time.Now()
			if _, err := f.Wait(t.Context()); !errors.Is(err, gone) || time.Since(begin) != 3*time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			other := tinker.SampleRequest{Params: tinker.DefaultSampling()}
			if _, err := sampler.Sample(t.Context(), other); err != nil {
				t.Error(err)
			}
			got := s.to("/cancel_future")
			if len(got) != 1 || got[0].body["request_id"] != "first" {
				t.Errorf("the server was told %+v", got)
			}
		})
}
