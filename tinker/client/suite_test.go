package client_test

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

// served is a client with the server that it talks to.
type served struct {
	*client.Client
	stop func() error
}

func (s served) Close() error { return errors.Join(s.Client.Close(), s.stop()) }

// serve starts a server over journal and engine in dir, at an address, or at any if that is empty.
func serve(t *testing.T, dir, addr string) (url string, stop func() error) {
	t.Helper()
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"), Seed: &seed, Threads: 1,
		Models: map[string]engine.Model{"tiny": {Dir: "../../examples/tiny/model"}}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), filepath.Join(dir, "journal"), e, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(context.Background(), j, server.Options{Dir: filepath.Join(dir, "server"), Store: e})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(s)
	if addr != "" {
		h.Listener.Close()
		if h.Listener, err = net.Listen("tcp", addr); err != nil {
			t.Fatal(err)
		}
	}
	h.Start()
	closed := false
	return h.URL, func() error {
		if closed {
			return nil
		}
		closed = true
		h.Listener.Close() // no new connections, and open ones are closed
		h.CloseClientConnections()
		h.Close()
		return errors.Join(s.Close(), j.Close())
	}
}

// The contract holds over HTTP: client → server → journal → engine.
func TestContract(t *testing.T) {
	tinkertest.Run(t, func(t *testing.T) tinker.Service {
		url, stop := serve(t, t.TempDir(), "")
		c, err := client.Open(t.Context(), client.Options{BaseURL: url, APIKey: "tml-test"})
		if err != nil {
			t.Fatal(err)
		}
		return served{c, stop}
	})
}

func open(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	o.APIKey = "tml-test"
	c, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func newModel(t *testing.T, c *client.Client) tinker.TrainingClient {
	t.Helper()
	seed := int64(3)
	m, err := c.CreateModel(t.Context(), tinker.CreateModelRequest{SessionID: "job", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// train sends steps from first to last, all at once, and returns the logprobs of the last one's batch.
func train(ctx context.Context, m tinker.TrainingClient, first, last int) ([]float32, error) {
	adam := tinker.DefaultAdam()
	adam.LearningRate = 1e-2
	var f *tinker.Future[tinker.ForwardOutput]
	for step := first; step <= last; step++ {
		tokens := []int32{5, 17, 3, 42, int32(step), 9}
		d := tinker.Datum{ModelInput: tinker.Text(tokens[:5]), LossFnInputs: map[string]tinker.Tensor{
			tinker.TargetTokens: tinker.TokenInts(tokens[1:]), tinker.Weights: tinker.Floats([]float32{1, 1, 1, 1, 1})}}
		var err error
		if f, err = m.ForwardBackward(ctx, tinker.ForwardRequest{SeqID: int64(2*step - 1), Data: []tinker.Datum{d},
			LossFn: tinker.CrossEntropy}); err != nil {
			return nil, err
		}
		if _, err := m.OptimStep(ctx, tinker.OptimStepRequest{SeqID: int64(2 * step), Adam: adam}); err != nil {
			return nil, err
		}
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return out.LossFnOutputs[0][tinker.Logprobs].Float, nil
}

func trained(t *testing.T, m tinker.TrainingClient, first, last int) []float32 {
	t.Helper()
	logprobs, err := train(t.Context(), m, first, last)
	if err != nil {
		t.Fatal(err)
	}
	return logprobs
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// A restart of the server is a pause for its clients: accepted requests are answered, later ones continue, and the
// bits stay the same.
func TestServerRestarts(t *testing.T) {
	url, stop := serve(t, t.TempDir(), "")
	want := trained(t, newModel(t, open(t, client.Options{BaseURL: url})), 1, 12)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	url, stop = serve(t, dir, "")
	var mu sync.Mutex
	var notices []client.Pause
	c := open(t, client.Options{BaseURL: url, Paused: func(p client.Pause) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, p)
	}})
	m := newModel(t, c)
	var got []float32
	failed := make(chan error)
	go func() { // twelve steps are outstanding when the server stops
		var err error
		got, err = train(t.Context(), m, 1, 12)
		failed <- err
	}()
	sampler, err := c.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	_, stop = serve(t, dir, strings.TrimPrefix(url, "http://"))
	defer stop()
	if err := <-failed; err != nil || !sameBits(got, want) {
		t.Errorf("after a restart: logprobs %v, want %v; %v", got, want, err)
	}
	if _, err := tinker.ComputeLogprobs(t.Context(), sampler, tinker.Text([]int32{1, 2, 3})); err != nil {
		t.Errorf("a sampler from before the restart: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(notices) > 0 && notices[0].State != client.Unreachable {
		t.Errorf("notices %v", notices)
	}
}

// A restarted client finds its model: earlier requests are answered and not executed again, and new ones continue.
func TestClientComesBack(t *testing.T) {
	url, stop := serve(t, t.TempDir(), "")
	defer stop()
	known := map[string]string{}
	o := client.Options{BaseURL: url, Sessions: known,
		OnSession: func(name, id string) error { known[name] = id; return nil }}
	first := open(t, o)
	m := newModel(t, first)
	want := trained(t, m, 1, 3)
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	again := newModel(t, open(t, o))
	if got, err := again.Info(t.Context()); err != nil || got.ModelID != info.ModelID || got.NextSeqID != 7 {
		t.Errorf("found %+v, %v; want %s at 7", got, err, info.ModelID)
	}
	if got := trained(t, again, 3, 3); !sameBits(got, want) {
		t.Errorf("an earlier request gives %v, want %v", got, want)
	}
	if got := trained(t, again, 4, 4); sameBits(got, want) {
		t.Error("a new request gives the result of an old one")
	}
}

// Many concurrent requests over HTTP are all answered, each with the bits that it has alone.
func TestBurst(t *testing.T) {
	url, stop := serve(t, t.TempDir(), "")
	c := open(t, client.Options{BaseURL: url})
	l, err := load.New(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Burst(t.Context(), 64, 160)
	// the number of outstanding requests depends on the machine
	if err != nil || got.Samples != 64 || got.Passes != 160 || got.Outstanding < 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := errors.Join(c.Close(), stop()); err != nil {
		t.Error(err)
	}
}
