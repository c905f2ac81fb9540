package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

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

// A caller that leaves while a sample is being submitted, for the first time or again, does not wait for the answer,
// and what the server still promises within a few seconds is cancelled.
func TestCallerLeavesDuringSubmission(t *testing.T) {
	first, lost := ok(`{"request_id": "first"}`), answer{status: 410, body: `{"detail": "gone"}`}
	late := func(after time.Duration) answer {
		return answer{status: 200, body: `{"request_id": "late"}`, after: after}
	}
	for name, c := range map[string]struct {
		submissions []answer
		want        bool // the late promise is cancelled
	}{
		"at once":       {[]answer{late(3 * time.Second)}, true},
		"again":         {[]answer{first, late(4 * time.Second)}, true},
		"much too late": {[]answer{late(time.Minute)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			scripted(t, map[string][]answer{"/asample": c.submissions, "/retrieve_future": {lost}}, nil,
				func(t *testing.T, client *Client, s *script) {
					sampler, gone := newSampler(t, client), errors.New("the caller is gone")
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(2*time.Second, func() { cancel(gone) })
					begin := time.Now()
					f, err := sampler.Sample(ctx, tinker.SampleRequest{Params: tinker.DefaultSampling()})
					if err == nil {
						_, err = f.Wait(t.Context())
					}
					if !errors.Is(err, gone) || time.Since(begin) != 2*time.Second {
						t.Errorf("after %v: %v", time.Since(begin), err)
					}
					time.Sleep(abandonTimeout + time.Second)
					cancelled := slices.ContainsFunc(s.to("/cancel_future"),
						func(r received) bool { return r.body["request_id"] == "late" })
					if cancelled != c.want {
						t.Errorf("the server was told %+v", s.to("/cancel_future"))
					}
				})
		})
	}
}
