package sampler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sampling is a scheduler with one base model.
type sampling struct {
	t         *testing.T
	scheduler *Scheduler
	turn      *fair.Turn
	memory    *weights.Memory
	group     *lifetime.Group
}

// newSampling returns a scheduler over the weights of a small random model, with so many bytes of KV pages.
func newSampling(t *testing.T, cacheBytes int64) *sampling {
	pool := kernel.NewPool(2)
	c, s := nn.Compute{K: bestKernels(), P: pool}, &sampling{t: t, turn: &fair.Turn{}, group: lifetime.New()}
	s.memory = weights.New(weights.Options{Compute: c, CacheBytes: cacheBytes})
	s.scheduler = New(Options{Compute: c, Turn: s.turn, Group: s.group,
		Backlog: fair.NewBacklog(tinker.Queue{Requests: 100, Tokens: 1 << 20}), MaxSequences: 256})
	t.Cleanup(func() { s.stop(); pool.Close() })
	dir := enginetest.Model(t, []byte(`{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 139, "hidden_size": 32,
		"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
		"intermediate_size": 48, "max_position_embeddings": 160, "rms_norm_eps": 1e-6, "rope_theta": 10000,
		"tie_word_embeddings": true, "torch_dtype": "bfloat16", "hidden_act": "silu"}`), 8)
	if err := s.memory.Serve("tiny", weights.Model{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return s
}

// client returns a client of the base model for a tenant.
func (s *sampling) client(owner string) *Client {
	v, held, err := s.memory.Use(s.memory.Find("tiny"), false)
	if err != nil {
		s.t.Fatal(err)
	}
	return NewClient(ClientOptions{Memory: s.memory, Submit: s.scheduler.Submit}, v, owner, held)
}

// stop ends the scheduler.
func (s *sampling) stop() {
	s.group.Close()
	s.group.Wait()
}

func request(n, most int, seed uint64) tinker.SampleRequest {
	prompt := make([]int32, 40)
	for i := range prompt {
		prompt[i] = int32((i*i*7 + i*13) % 139)
	}
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed, p.StopTokens = most, &seed, []int32{138}
	return tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: n, Params: p}
}

// A step has no more tokens of any other tenant than of its leader. So the steps of a small sample stay small beside
// another tenant's hundred samples, whose own steps still have all of them.
func TestStepsOfOneOwnerStaySmall(t *testing.T) {
	s := newSampling(t, 1<<30)
	many, few := s.client("many"), s.client("few")
	led, most, wrong := map[string]int{}, 0, ""
	both := false
	s.scheduler.Runner.Between = func() error {
		rows := map[string]int{}
		for _, l := range s.scheduler.batch {
			rows[l.owner().Name] += l.take
		}
		if most = max(most, rows["many"]); rows["few"] > 0 {
			both = true
		}
		led[s.scheduler.leader]++
		if n := rows[s.scheduler.leader]; n == 0 || rows["many"] > n || rows["few"] > n {
			wrong = fmt.Sprintf("%s leads %v", s.scheduler.leader, rows)
		}
		return nil
	}
	s.turn.Take(fair.ForTraining)
	f, err := many.Sample(t.Context(), request(100, 60, 1))
	if err != nil {
		t.Fatal(err)
	}
	g, err := few.Sample(t.Context(), request(1, 30, 2))
	s.turn.Done(fair.ForTraining)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*tinker.Future[tinker.SampleResponse]{f, g} {
		if _, err := f.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if wrong != "" || led["few"] == 0 || led["many"] == 0 || most < 90 || !both {
		t.Errorf("steps led by %v, with at most %d tokens of the many; %s", led, most, wrong)
	}
	s.stop() // when nothing is in progress, no tenant is active
	if n := s.turn.Clock.Waiting(fair.ForSamples); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}

// Tokens are handed out in the step that draws them, and a reader that goes away ends its request before the next step
// and leaves no page behind.
func TestVanishedReaderEndsItsStream(t *testing.T) {
	s := newSampling(t, 1<<21)
	c := s.client("")
	gone := errors.New("the reader is gone")
	for range 20 {
		ctx, cancel := context.WithCancelCause(context.Background())
		r := request(4, 100, 1)
		r.Params.StopTokens, r.Params.NoStop = nil, true
		f, resolve := tinker.NewFuture[tinker.SampleResponse]()
		drawn := 0
		err := c.accept(ctx, r, resolve, func(tinker.Drawn) {
			if drawn++; drawn == 10 {
				cancel(gone)
			}
		})
		if err == nil {
			_, err = f.Wait(t.Context())
		}
		if !errors.Is(err, gone) {
			t.Fatalf("the result is %v", err)
		}
		if drawn > 12 {
			t.Errorf("%d tokens were drawn; the reader was gone at the tenth, and a step draws 4", drawn)
		}
	}
	s.stop()
	var n tinker.Stats
	if s.scheduler.Count(&n); n.Running != 0 || s.scheduler.Backlog.Now() != (tinker.Queue{}) {
		t.Errorf("left behind: %d sequences, %+v", n.Running, s.scheduler.Backlog.Now())
	}
	if c := c.version.Cache; c.Alloc(c.Limit(), false) == nil {
		t.Errorf("%d pages are still held", c.InUse())
	}
}
