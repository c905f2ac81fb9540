package server

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A number too far ahead is refused. One within the limit is accepted, and closing the gap cancels each missing number
// once, also after a restart.
func TestGapsAreBounded(t *testing.T) {
	r := newRig(t, Options{MaxMissing: 50, GapAfter: 50 * time.Millisecond})
	m := r.model(r.session(), 0)
	for _, seq := range []int64{52, 100, math.MaxInt32} {
		for path, body := range map[string]any{"/save_weights_for_sampler": map[string]any{"model_id": m,
			"seq_id": seq, "sampling_session_seq_id": 0}, "/optim_step": step(m, seq),
			"/forward_backward": batch(m, seq, false),
			"/save_weights":     map[string]any{"model_id": m, "seq_id": seq}} {
			code, _, raw := r.send("POST", wire.Prefix+path, body)
			if code != http.StatusBadRequest || !strings.Contains(string(raw),
				"at most 50 may be missing (MaxMissing)") {
				t.Errorf("%s %d: %d %s", path, seq, code, raw)
			}
		}
	}
	if n := len(r.server.state.Marks) + len(r.server.state.Samplers); n != 0 {
		t.Errorf("%d marks and samplers of refused requests", n)
	}
	id := r.promise("/optim_step", step(m, 51))
	r.result(id)
	want := fmt.Sprintf("requests 1 to 50 of model %s did not arrive", m)
	for range 2 {
		for _, seq := range []int64{1, 50} {
			if text, _ := r.failure(r.promise("/optim_step", step(m, seq))); !strings.Contains(text, want) {
				t.Errorf("request %d: %s", seq, text)
			}
		}
		if n := len(r.server.state.Rejects) + len(r.server.state.Gaps[m]); n != 1 {
			t.Errorf("%d records of one gap", n)
		}
		r.restart()
	}
	r.result(r.promise("/optim_step", step(m, 52)))
}

// An invalid request whose model and number can be read uses its number, and later requests run.
func TestWrongRequestsUseTheirNumber(t *testing.T) {
	r := newRig(t, Options{Bodies: Bodies{MaxBody: 1 << 20, MaxSmallBody: 4 << 10, MaxElements: 1000},
		GapAfter: time.Hour})
	m := r.model(r.session(), 0)
	nan := func(seq int64) []byte {
		return wire.EncodeForwardBackward(wire.ForwardBackward{ModelID: m, SeqID: seq, LossFn: "ppo",
			LossFnConfig: map[string]float64{"clip": math.NaN()}})
	}
	head := func(seq int64) []byte {
		return wire.EncodeForwardBackward(wire.ForwardBackward{ModelID: m, SeqID: seq})
	}
	text := func(format string) func(int64) any {
		return func(seq int64) any { return rawJSON(fmt.Sprintf(format, m, seq)) }
	}
	seq := int64(0)
	for _, tt := range []struct {
		name, path string
		body       func(int64) any
		want       string
	}{
		{"NaN in the configuration", "/forward_backward", func(n int64) any { return nan(n) }, "NaN"},
		{"a broken datum", "/forward_backward", func(n int64) any { return append(head(n), 0x1a, 200) }, "malformed"},
		{"many empty datums", "/forward_backward", func(n int64) any {
			return append(head(n),
				bytes.Repeat([]byte{0x1a, 0}, 2000)...)
		}, "MaxElements"},
		{"a large body", "/forward_backward", func(n int64) any { return append(head(n), make([]byte, 2<<20)...) },
			"MaxBody"},
		{"a number that is text", "/optim_step",
			text(`{"model_id":%q,"seq_id":%d,"adam_params":{"learning_rate":"x"}}`), "learning_rate"},
		{"a brace too many", "/optim_step", text(`{"model_id":%q,"seq_id":%d}}`), "after top-level value"},
		{"NaN in JSON", "/optim_step", text(`{"model_id":%q,"seq_id":%d,"adam_params":{"learning_rate":NaN}}`),
			"invalid character"},
		{"nested deeply", "/optim_step", text(`{"model_id":%q,"seq_id":%d,"x":` + strings.Repeat("[", 100)),
			"MaxDepth"},
		{"a large small body", "/optim_step", text(`{"model_id":%q,"seq_id":%d,"x":"` + strings.Repeat("x", 8<<10)),
			"MaxSmallBody"},
		{"a path that is a number", "/save_weights", text(`{"model_id":%q,"seq_id":%d,"path":7}`), "path"},
		{"empty chunks", "/forward_backward",
			text(`{"model_id":%q,"seq_id":%d,"forward_input":{"data":[` + strings.Repeat("{},", 2000)), "MaxElements"},
	} {
		seq++
		body := tt.body(seq)
		if message, _ := r.failure(r.promise(tt.path, body)); !strings.Contains(message, tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, message, tt.want)
		}
	}
	r.result(r.promise("/optim_step", step(m, seq+1))) // nothing is waited for
	for _, body := range []any{rawJSON(`{"seq_id":1}`), rawJSON(`{"model_id":"other","seq_id":1,}`),
		rawJSON(fmt.Sprintf(`{"model_id":%q,"seq_id":-1,}`, m))} {
		if code, _, raw := r.send("POST", wire.Prefix+"/optim_step", body); code != http.StatusBadRequest &&
			code != http.StatusNotFound {
			t.Errorf("%s: %d %s", body, code, raw)
		}
	}
}

func TestPages(t *testing.T) {
	r := newRig(t, Options{})
	r.session()
	for _, path := range []string{"/sessions", "/checkpoints", "/training_runs"} {
		for _, query := range []string{"?limit=9223372036854775807", "?limit=9223372036854775807&offset=1",
			"?offset=9223372036854775807", "?limit=0"} {
			if code, _, raw := r.send("GET", wire.Prefix+path+query, nil); code != http.StatusOK {
				t.Errorf("%s%s: %d %s", path, query, code, raw)
			}
		}
		for _, query := range []string{"?limit=-1", "?limit=9223372036854775808", "?offset=x"} {
			if code, _, raw := r.send("GET", wire.Prefix+path+query, nil); code != http.StatusBadRequest {
				t.Errorf("%s%s: %d %s", path, query, code, raw)
			}
		}
	}
}

// A minimum of 0 is the default; a negative one is none.
func TestMinFree(t *testing.T) {
	for _, tt := range []struct {
		least int64
		want  int
	}{{0, http.StatusInsufficientStorage}, {1, http.StatusInsufficientStorage}, {-1, http.StatusOK}} {
		r := newRig(t, Options{Queues: Queues{MinFree: tt.least, Free: func() (int64, error) { return 0, nil }}})
		code, _, raw := r.send("POST", wire.Prefix+"/create_session", map[string]any{})
		if code != tt.want {
			t.Errorf("MinFree %d on a full disk: %d %s, want %d", tt.least, code, raw, tt.want)
		}
	}
}
