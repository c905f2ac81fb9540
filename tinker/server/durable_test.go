package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func TestRestart(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	trained := r.promise("/forward_backward", batch(m, 1, false))
	want := bits(r.output(trained))
	wrong := r.promise("/optim_step", map[string]any{"model_id": m, "seq_id": 2,
		"optimizer_params": map[string]any{"type": "dimuon"}})
	unnamed := r.promise("/save_weights_for_sampler",
		map[string]any{"model_id": m, "seq_id": 3, "sampling_session_seq_id": 0})
	sampler := r.result(unnamed)["sampling_session_id"].(string)
	open := asample(sampler, 1_000_000_001, map[string]any{"num_samples": 3}) // without a seed
	drawn := r.promise("/asample", open)
	tokens := fmt.Sprint(r.samples(drawn).Sequences)
	ahead := r.promise("/forward_backward", batch(m, 6, true)) // waits for 4 and 5

	r.restart()
	if got := bits(r.output(trained)); got != want {
		t.Errorf("the result of training became %s, was %s", got, want)
	}
	if text, _ := r.failure(wrong); !strings.Contains(text, "dimuon") {
		t.Errorf("the failure became %q", text)
	}
	if got := r.result(unnamed)["sampling_session_id"]; got != sampler {
		t.Errorf("the unnamed sampler became %v, was %s", got, sampler)
	}
	if got := fmt.Sprint(r.samples(drawn).Sequences); got != tokens {
		t.Errorf("samples became %s, were %s", got, tokens)
	}
	if again := r.promise("/asample", open); again != drawn {
		t.Errorf("the same request is %s and %s", drawn, again)
	}
	r.promise("/optim_step", step(m, 4))
	r.promise("/forward_backward", batch(m, 5, false))
	r.output(ahead)
	r.output(r.promise("/forward_backward", batch(m, 7, false)))
	var u wire.Session
	r.get("/sessions/"+session, &u)
	if len(u.TrainingRunIDs) != 1 || len(u.SamplerIDs) != 1 {
		t.Errorf("the session has %+v", u)
	}
}

// A sample whose result was lost is drawn again from the seed that was logged.
func TestUnfinishedSamplesAreDrawnAgain(t *testing.T) {
	r := newRig(t, Options{})
	sampler := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"})
	body := asample(sampler, 0, map[string]any{"num_samples": 2,
		"sampling_params": map[string]any{"max_tokens": 30, "stop": []int{127}}})
	id := r.promise("/asample", body)
	want := fmt.Sprint(r.samples(id).Sequences)
	// still runs
	other := r.promise("/asample", asample(sampler, 1,
		map[string]any{"sampling_params": map[string]any{"max_tokens": 400, "stop": []int{127}}}))
	r.server.state.Lock()
	p := r.server.state.Samples[state.SampleKey{Sampler: sampler}]
	p.Finished, p.Result, p.Request = time.Time{}, state.SampleResult{}, mustJSON(t, body)
	if err := r.server.state.Compact(); err != nil { // as if the result had never been written
		t.Fatal(err)
	}
	r.server.state.Unlock()
	r.restart()
	if got := fmt.Sprint(r.samples(id).Sequences); got != want {
		t.Errorf("drawn again: %s, before: %s", got, want)
	}
	if n := len(r.samples(other).Sequences[0].Tokens); n == 0 {
		t.Error("the other sample was lost")
	}
}

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDamageStopsTheStart(t *testing.T) {
	r := newRig(t, Options{})
	r.session()
	r.session()
	r.stop()
	path := filepath.Join(r.dir, "server", state.LogName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[20] ^= 1
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.start(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want one that names %s", err, path)
	}
}

// script is a client that trains and samples; every request can be sent again. do returns the result of request i, or
// an error if the server did not answer it.
type script struct {
	r       *rig
	session string
	model   string
	sampler string
	saved   string
}

const scriptSteps = 9

var errDown = errors.New("the server is down")

func (s *script) do(i int) (string, error) {
	var id string
	var err error
	switch i {
	case 0:
		if s.session == "" {
			var out wire.CreateSessionResponse
			if err := s.send("/create_session", map[string]any{"tags": []string{}, "sdk_version": "x"},
				&out); err != nil {
				return "", err
			}
			s.session = out.SessionID
		}
		return "", nil
	case 1:
		id, err = s.promise("/create_model", createModel(s.session, 0))
	case 2, 4:
		id, err = s.promise("/forward_backward", batch(s.model, int64(i-1), false))
	case 3, 5:
		id, err = s.promise("/optim_step", step(s.model, int64(i-1)))
	case 6:
		id, err = s.promise("/save_weights_for_sampler",
			map[string]any{"model_id": s.model, "seq_id": 5, "sampling_session_seq_id": 0})
	case 7:
		id, err = s.promise("/save_weights", map[string]any{"model_id": s.model, "seq_id": 6, "path": "end",
			"ttl_seconds": 3600})
	case 8:
		id, err = s.promise("/asample", asample(s.sampler, 0,
			map[string]any{"prompt_logprobs": true, "sampling_params": map[string]any{"max_tokens": 20, "seed": 3}}))
	}
	if err != nil {
		return "", err
	}
	return s.fetch(i, id)
}

func (s *script) send(path string, body, out any) error {
	code, _, raw, err := s.r.try("POST", wire.Prefix+path, body)
	if err != nil || code >= 500 {
		return errDown
	}
	if code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, code, raw)
	}
	return json.Unmarshal(raw, out)
}

func (s *script) promise(path string, body any) (string, error) {
	var p wire.Promise
	err := s.send(path, body, &p)
	return p.RequestID, err
}

func (s *script) fetch(i int, id string) (string, error) {
	code, h, raw, err := s.r.try("POST", wire.Prefix+"/retrieve_future", wire.RetrieveRequest{RequestID: id}, "Accept",
		wire.Proto)
	switch {
	case err != nil || code >= 500:
		return "", errDown
	case code != http.StatusOK:
		return "", fmt.Errorf("step %d: retrieve_future: %d %s", i, code, raw)
	case h.Get("Content-Type") == wire.Proto:
		return fmt.Sprintf("%x", raw), nil
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", err
	}
	if m["type"] == "try_again" || m["error"] != nil &&
		strings.Contains(fmt.Sprint(m["error"]), disktest.ErrCrash.Error()) {
		return "", errDown
	}
	if m["error"] != nil {
		return "", fmt.Errorf("step %d: %v", i, m)
	}
	switch i {
	case 1:
		s.model = m["model_id"].(string)
	case 6:
		s.sampler = m["sampling_session_id"].(string)
	case 7:
		s.saved = m["path"].(string)
	}
	return strings.ReplaceAll(fmt.Sprint(m), s.session, "SESSION"), nil
}

// TestEveryCrash stops the server at operations on the disk and starts it again: every answer stays valid, nothing is
// executed twice, and all results are those of an unbroken run.
func TestEveryCrash(t *testing.T) {
	t.Parallel()
	modelDir := tinyModel(t)
	var want []string // the answers of the first case, which is not stopped
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		s := &script{r: &rig{t: t, modelDir: modelDir, dir: dir, opts: Options{Hold: 20 * time.Millisecond},
			key: "tml-alice"}}
		var got []string
		job := func(fs disk.FS) (err error) {
			got, err = s.play(fs.(*disktest.Crash), got)
			return err
		}
		return job, func() {
			if want == nil {
				want = got
			}
			for i, g := range got {
				if g != want[i] {
					t.Errorf("step %d:\ngot  %.300s\nwant %.300s", i, g, want[i])
				}
			}
		}
	})
}

// play starts the server on a disk and sends the requests that have no answer yet.
func (s *script) play(fs *disktest.Crash, got []string) ([]string, error) {
	s.r.fs = fs
	if err := s.r.start(); err != nil {
		return got, err
	}
	defer s.r.stop()
	for len(got) < scriptSteps {
		answer, err := s.do(len(got))
		switch {
		case err == nil:
			got = append(got, answer)
		case !errors.Is(err, errDown):
			return got, err
		case fs.Last() != "": // else it is only slow
			return got, disktest.ErrCrash
		}
	}
	list, err := s.r.server.saved.List(s.r.t.Context(), TenantOf(s.r.key), "", true)
	if err == nil && (len(list) != 1 || list[0].Path.String() != s.saved || list[0].Note.Expires == nil) {
		err = fmt.Errorf("checkpoints %+v", list)
	}
	return got, err
}
