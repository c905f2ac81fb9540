package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

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
		{"not JSON", []answer{ok(`<html>`)}, seconds(0), "not valid in the protocol"},
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

// A model's optimizer is what the server says; none is AdamW.
func TestOptimizerOfAModel(t *testing.T) {
	scripted(t, map[string][]answer{"/get_info": {ok(`{"optimizer_config": {"type": "dimuon", "version": 1}}`),
		ok(`{}`)}}, nil, func(t *testing.T, c *Client, s *script) {
		m := newModel(t, c)
		for _, want := range []string{tinker.Dimuon, ""} {
			if info, err := m.Info(t.Context()); err != nil || info.OptimizerType != want {
				t.Errorf("%+v, %v; want the optimizer %q", info, err, want)
			}
		}
	})
}
