package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

const (
	scriptSteps = 8
	serveKills  = 4
)

// TestServeKilled kills a server with kill -9 at random moments of a mixed load and restarts it immediately. Clients
// repeat what the protocol lets them repeat, and only see pauses. Every answer has the bits of an uninterrupted server,
// so nothing accepted was lost and nothing was executed twice. Streams of OpenAI's interface, which the kills cut, run
// beside it.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	whole := newRunning(t, t.TempDir(), "--threads", "1", "--replay", "2s")
	want := newCrowd(t, whole.URL)
	wantScript, wantUnnamed := want.script(0), want.unnamed()
	wantNames := want.checkpoints()
	if want.err != nil {
		t.Fatalf("the unbroken run: %v\n%s", want.err, whole.Said())
	}
	whole.Kill()

	s := newRunning(t, t.TempDir(), "--threads", "1", "--replay", "2s",
		"--idle", "1s") // runs and the base model leave memory and return meanwhile
	c := newCrowd(t, s.URL)
	var enough atomic.Bool
	var scripts atomic.Int64
	var work sync.WaitGroup
	for w := range 3 {
		work.Go(func() {
			for n := 0; !enough.Load() && c.ok(); n++ {
				c.compare("a script", c.script(10*n+w), wantScript)
				scripts.Add(1)
			}
		})
	}
	work.Go(func() {
		for !enough.Load() && c.ok() {
			c.compare("unnamed samplers", c.unnamed(), wantUnnamed)
			scripts.Add(1)
		}
	})
	streams := streamTally{events: make(chan struct{})}
	for n := range 8 {
		work.Go(func() { c.stream(n, &enough, &streams) })
	}
	killAtRandom(t, s, c, &streams)
	enough.Store(true)
	work.Wait()
	if !c.ok() {
		t.Fatalf("%v\nthe server said:\n%s", c.err, s.Said())
	}
	for run, names := range c.checkpoints() {
		if !slices.ContainsFunc(wantNames.sets(), func(w string) bool { return w == names }) {
			t.Errorf("run %s has the checkpoints %s; those of an unbroken one are %q", run, names, wantNames.sets())
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if out, err := s.Run("serve", "--verify", "--data", "data"); err != nil {
		t.Errorf("--verify at the end: %v\n%s", err, out)
	}
	if streams.cut.Load() == 0 || streams.whole.Load() == 0 {
		t.Errorf("%d streams were cut and %d complete, so that the kills met none", streams.cut.Load(),
			streams.whole.Load())
	}
	t.Logf("%d kills, %d scripts of %d answers each, every bit as in an unbroken run; %d streams complete, %d cut",
		serveKills, scripts.Load(), len(wantScript), streams.whole.Load(), streams.cut.Load())
}

// killAtRandom kills the server and starts it again, each time after a random number of events of the streams.
func killAtRandom(t *testing.T, s *program.Server, c *crowd, streams *streamTally) {
	seed := rand.Uint64()
	t.Logf("the seed of the kills is %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	for range serveKills {
		for range 1 + draw.IntN(400) {
			select {
			case <-streams.events:
			case <-c.ctx.Done():
				return
			}
		}
		s.Kill()
		start(t, s)
	}
}

// crowd is the clients of a server. The first error ends them.
type crowd struct {
	ctx    context.Context
	cancel context.CancelFunc
	url    string
	client *client.Client
	load   *load.Load

	mu  sync.Mutex
	err error
}

func newCrowd(t *testing.T, url string) *crowd {
	t.Helper()
	c := &crowd{url: url}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	var err error
	if c.client, err = client.Open(c.ctx, client.Options{BaseURL: url, APIKey: "tml-test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.client.Close() })
	if c.load, err = load.New(c.ctx, c.client, ""); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.err == nil {
		c.err = err
		c.cancel()
	}
}

func (c *crowd) ok() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil
}

// pause is the time between two tries while the server is down.
func (c *crowd) pause() {
	select {
	case <-c.ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

func (c *crowd) compare(what string, got, want []string) {
	if c.ok() && !slices.Equal(got, want) {
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				c.fail(fmt.Errorf("%s: answer %d is %.300s", what, i, got[i]))
				return
			}
		}
		c.fail(fmt.Errorf("%s: %d answers of %d", what, len(got), len(want)))
	}
}

// script runs one mixed script in a new session; all scripts must get the same answers.
func (c *crowd) script(n int) []string {
	said, err := tinkertest.Script(c.ctx, c.client, c.load.Base(), fmt.Sprintf("script-%06d", n), scriptSteps)
	c.fail(err)
	return said
}

// names is the checkpoints by run.
type names map[string]string

func (n names) sets() (out []string) {
	for _, s := range n {
		out = append(out, s)
	}
	return out
}

func (c *crowd) checkpoints() names {
	all, err := c.client.AllCheckpoints(c.ctx, 100_000, 0)
	c.fail(err)
	slices.SortFunc(all.Checkpoints, func(a, b wire.Checkpoint) int {
		return bytes.Compare([]byte(a.TinkerPath), []byte(b.TinkerPath))
	})
	out := names{}
	for _, k := range all.Checkpoints {
		p, err := tinker.ParsePath(k.TinkerPath)
		c.fail(err)
		out[p.ModelID] += string(p.Kind) + "/" + p.Name + " "
	}
	return out
}

// unnamed trains a run and draws from unnamed samplers of it, as save_weights_and_get_sampling_client does. It uses
// the wire directly, because package tinker has no unnamed samplers.
func (c *crowd) unnamed() []string {
	var said []string
	var session wire.CreateSessionResponse
	c.post("/create_session", map[string]any{"tags": []string{}, "sdk_version": "0.25.0"}, &session)
	var made wire.CreateModelResponse
	c.result("/create_model", wire.CreateModelRequest{SessionID: session.SessionID, BaseModel: c.load.Base(),
		LoRA: wire.FromLoRA(tinker.LoRA{Rank: 4, Seed: new(int64), TrainAttn: true})}, &made)
	for i := int64(0); i < 3 && c.ok(); i++ {
		c.result("/optim_step", map[string]any{"model_id": made.ModelID, "seq_id": 2*i + 1,
			"adam_params": map[string]any{"learning_rate": 1e-4}}, &json.RawMessage{})
		var saved wire.SaveResponse
		c.result("/save_weights_for_sampler", map[string]any{"model_id": made.ModelID, "seq_id": 2*i + 2,
			"sampling_session_seq_id": i}, &saved)
		var drawn json.RawMessage
		chunk := map[string]any{"type": "encoded_text", "tokens": []int{40, 41}}
		c.result("/asample", map[string]any{"sampling_session_id": saved.SamplingSessionID, "seq_id": 0,
			"num_samples": 2, "prompt": map[string]any{"chunks": []any{chunk}},
			"sampling_params": map[string]any{"max_tokens": 16, "seed": 5}}, &drawn)
		said = append(said, string(drawn))
	}
	return said
}

// result posts a request and polls for its result, and retries both while the server is down.
func (c *crowd) result(path string, body, out any) {
	var p wire.Promise
	c.post(path, body, &p)
	for c.ok() {
		var raw json.RawMessage
		c.post("/retrieve_future", wire.RetrieveRequest{RequestID: p.RequestID}, &raw)
		var state struct{ Type, Error string }
		if json.Unmarshal(raw, &state) != nil || state.Error != "" {
			c.fail(fmt.Errorf("%s: %s", path, raw))
		} else if state.Type != "try_again" {
			c.fail(json.Unmarshal(raw, out))
			return
		}
	}
}

func (c *crowd) post(path string, body, out any) {
	raw, err := json.Marshal(body)
	c.fail(err)
	for ; c.ok(); c.pause() {
		req, err := http.NewRequestWithContext(c.ctx, "POST", c.url+wire.Prefix+path, bytes.NewReader(raw))
		if err != nil {
			c.fail(err)
			return
		}
		req.Header.Set(wire.HeaderKey, "tml-test")
		req.Header.Set("Accept", wire.Proto)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			c.fail(c.ctx.Err())
			continue
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil || resp.StatusCode >= 500:
		case resp.StatusCode != http.StatusOK:
			c.fail(fmt.Errorf("%s: %s %s", path, resp.Status, answer))
		default:
			if resp.Header.Get("Content-Type") == wire.Proto { // a sample
				answer = fmt.Appendf(nil, `{"sample":"%x"}`, answer)
			}
			c.fail(errors.Join(json.Unmarshal(answer, out)))
			return
		}
	}
}
