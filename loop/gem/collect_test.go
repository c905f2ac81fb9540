package gem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// bytewise is a tokenizer of one token a byte.
type bytewise struct{}

func (bytewise) Bytes(id int32) []byte { return []byte{byte(id)} }
func (bytewise) Token(int32) string    { return "" }
func (bytewise) IsSpecial(int32) bool  { return false }

func (bytewise) Encode(text string, _ bool) (tokens []int32) {
	for _, b := range []byte(text) {
		tokens = append(tokens, int32(b))
	}
	return tokens
}

func (bytewise) Decode(tokens []int32, _ bool) string {
	var b []byte
	for _, t := range tokens {
		b = append(b, byte(t))
	}
	return string(b)
}

// guesser answers every prompt with a guess that its seed decides, and fails where fail says so.
type guesser struct {
	fail func(seed uint64) bool

	mu    sync.Mutex
	asked int
}

func (g *guesser) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	g.mu.Lock()
	g.asked++
	g.mu.Unlock()
	if g.fail != nil && g.fail(*req.Params.Seed) {
		return nil, errors.New("out of paper")
	}
	tokens := bytewise{}.Encode(fmt.Sprintf(`\boxed{%d}`, 1+*req.Params.Seed%10), false)
	q := tinker.SampledSequence{Tokens: tokens, Logprobs: make([]float32, len(tokens)), StopReason: tinker.StopStop}
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil), nil
}

// collector is a Trainer as far as collecting goes.
func collector(t *testing.T, dir string, s tinker.SamplingClient, pairs ...string) *Trainer {
	t.Helper()
	words, err := game.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := env.NewRegistry(game.Table(words))
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	if err := c.SetAll(pairs); err != nil {
		t.Fatal(err)
	}
	tr, err := New(Options{Config: c, Out: io.Discard, Tokens: bytewise{}, Make: func() (env.Env, error) {
		e, err := registry.Make(c.EnvID, nil)
		return env.NewHistory(e, env.HistoryOptions{}), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if tr.store, err = buffer.OpenStore(filepath.Join(dir, "episodes"), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.store.Close() })
	tr.policy.Sampler = s
	return tr
}

func TestCollect(t *testing.T) {
	tr := collector(t, t.TempDir(), &guesser{}, "batch_size=40", "num_env=8")
	episodes, failed, err := tr.collect(context.Background(), 3)
	if err != nil || failed != 0 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	turns, secrets := 0, map[string]bool{}
	for i, e := range episodes {
		if round, index := slotOf(e); round != i/8 || index != i%8 {
			t.Errorf("episode %d was played in round %d, slot %d; want them in order", i, round, index)
		}
		turns += len(e)
		for j, x := range e {
			text := bytewise{}.Decode(x.Tokens[:x.PromptLength], false)
			if !strings.HasPrefix(text, "<|im_start|>user\nYou are playing language games.") ||
				strings.Count(text, "At turn") != j {
				t.Errorf("turn %d sees %q; want the template and %d earlier turns", j, text, j)
			}
		}
		if last := e[len(e)-1]; *last.Reward <= 0 && len(e) < 4 {
			t.Errorf("episode %d ended after %d turns with reward %v", i, len(e), *last.Reward)
		}
		secrets[fmt.Sprint(len(e), e.Return())] = true
	}
	if turns < 40 || len(episodes)%8 != 0 || len(secrets) < 3 {
		t.Errorf("%d turns in %d episodes of %d kinds; want whole rounds up to 40 turns, and different games", turns,
			len(episodes), len(secrets))
	}
}

// What was stored is not asked for again, and a restart gets the same episodes.
func TestCollectAgain(t *testing.T) {
	dir := t.TempDir()
	g := &guesser{fail: func(seed uint64) bool { return seed%16 == 0 }}
	first := collector(t, dir, g, "num_env=16")
	want, failed, err := first.collect(context.Background(), 0)
	if err != nil || failed == 0 {
		t.Fatalf("%d failed, %v; want some failures", failed, err)
	}
	first.store.Close()
	asked := g.asked
	got, again, err := collector(t, dir, g, "num_env=16").collect(context.Background(), 0)
	if err != nil || g.asked != asked || again != failed {
		t.Errorf("asked %d times more, %d failed after %d, %v", g.asked-asked, again, failed, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d episodes, then %d", len(want), len(got))
	}
	for i := range got {
		if got[i].Return() != want[i].Return() || len(got[i]) != len(want[i]) {
			t.Errorf("episode %d differs", i)
		}
	}
}

// The seed would play forever.
func TestThreeEmptyRoundsEndTheRun(t *testing.T) {
	g := &guesser{fail: func(uint64) bool { return true }}
	tr, said := collector(t, t.TempDir(), g, "num_env=5"), new(strings.Builder)
	tr.Out = said
	_, _, err := tr.collect(context.Background(), 0)
	if err == nil || !strings.Contains(err.Error(), "3 rounds of 5 episodes failed") ||
		!strings.Contains(err.Error(), "out of paper") {
		t.Errorf("error %v, want one that says so with the last failure", err)
	}
	if want := strings.Repeat("5 of 5 episodes failed, for instance: out of paper\n", 3); said.String() != want {
		t.Errorf("it prints %q, want %q", said, want)
	}
	if g.asked != 15 {
		t.Errorf("asked %d times, want 15", g.asked)
	}
}

// A run that ended so goes on once whatever made the episodes fail is mended.
func TestEmptyRoundsAreCollectedAgain(t *testing.T) {
	dir, down := t.TempDir(), true
	g := &guesser{fail: func(uint64) bool { return down }}
	first := collector(t, dir, g, "num_env=5")
	if _, _, err := first.collect(context.Background(), 0); err == nil {
		t.Fatal("no error")
	}
	first.store.Close()
	down = false
	if list, failed, err := collector(t, dir, g, "num_env=5").collect(context.Background(), 0); err != nil ||
		failed != 0 || len(list) == 0 {
		t.Errorf("%d episodes, %d failed, %v", len(list), failed, err)
	}
}

// They are also collected again where rounds before them had episodes, which stay: the step gets the episodes of a run
// in which nothing failed.
func TestEmptyRoundsAfterAGoodOneAreCollectedAgain(t *testing.T) {
	pairs := []string{"num_env=5", "batch_size=60"}
	want, _, err := collector(t, t.TempDir(), &guesser{}, pairs...).collect(context.Background(), 0)
	if err != nil || len(want) < 10 {
		t.Fatalf("%d episodes, %v; want several rounds", len(want), err)
	}
	dir := t.TempDir()
	broken := collector(t, dir, &guesser{}, pairs...)
	failAfter(broken, 5)
	for range 2 {
		_, _, err := broken.collect(context.Background(), 0)
		if err == nil || !strings.Contains(err.Error(), "3 rounds of 5 episodes failed, the last time so: out of ink") {
			t.Fatalf("error %v, want the last failure", err)
		}
	}
	broken.store.Close()
	got, failed, err := collector(t, dir, &guesser{}, pairs...).collect(context.Background(), 0)
	if err != nil || failed != 0 || !reflect.DeepEqual(totals(got), totals(want)) {
		t.Errorf("episodes %v, %d failed, %v; want %v", totals(got), failed, err, totals(want))
	}
}

// Rounds without an episode that did not end the run are counted again, as if there had been no restart.
func TestEmptyRoundsOfAKilledRunStay(t *testing.T) {
	dir := t.TempDir()
	ctx, kill := context.WithCancel(context.Background())
	first := collector(t, dir, &guesser{}, "num_env=1", "batch_size=60")
	failAfter(first, 1)
	inner, made := first.Make, 0
	first.Make = func() (env.Env, error) {
		if made++; made == 4 {
			kill()
		}
		return inner()
	}
	if _, _, err := first.collect(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the kill's in the third empty round", err)
	}
	first.store.Close()
	_, failed, err := collector(t, dir, &guesser{}, "num_env=1", "batch_size=60").collect(context.Background(), 0)
	if err != nil || failed != 2 {
		t.Errorf("%d failed, %v; want 2", failed, err)
	}
}

// failAfter lets all environments of a Trainer fail after the first n.
func failAfter(tr *Trainer, n int64) {
	inner := tr.Make
	var made atomic.Int64
	tr.Make = func() (env.Env, error) {
		if made.Add(1) > n {
			return nil, errors.New("out of ink")
		}
		return inner()
	}
}

func totals(episodes []Turns) (list []float64) {
	for _, e := range episodes {
		list = append(list, e.Return())
	}
	return list
}

// The members of a group begin in one state, after the turns they have in common; groups differ.
func TestGroupsShareTheirState(t *testing.T) {
	for fork := range 3 {
		tr := collector(t, t.TempDir(), &guesser{}, "method=grpo", "num_env=8", "group_size=4",
			fmt.Sprintf("fork_turn=%d", fork), "env_id=game:GuessTheNumber-v0-hard", "batch_size=1")
		episodes, _, err := tr.collect(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		prompt := func(i int) string {
			return bytewise{}.Decode(episodes[i][0].Tokens[:episodes[i][0].PromptLength], false)
		}
		for i := range episodes {
			if prompt(i) != prompt(i/4*4) || strings.Count(prompt(i), "At turn") != fork {
				t.Errorf("fork_turn=%d: episode %d begins with %q", fork, i, prompt(i))
			}
		}
		if prompt(0) == prompt(4) {
			t.Errorf("fork_turn=%d: both groups begin with %q", fork, prompt(0))
		}
	}
}

func TestEvaluation(t *testing.T) {
	tr := collector(t, t.TempDir(), &guesser{})
	x := Evaluation{EnvID: "game:GuessTheNumber-v0-easy", Episodes: 300, Make: tr.Make, Policy: &tr.policy}
	a, err := x.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := x.Run(context.Background())
	if err != nil || a != b {
		t.Errorf("two evaluations of one policy differ: %+v, %+v, %v", a, b, err)
	}
	x.Policy = nil
	random, err := x.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// Uniform guesses have a mean return of 0.733 exactly.
	for name, r := range map[string]Result{"scripted": a, "random": random} {
		if r.Return < 0.733-4*r.ReturnSE || r.Return > 0.733+4*r.ReturnSE || r.Episodes != 300 || r.ReturnSE <= 0 ||
			r.ReturnSE > 0.03 {
			t.Errorf("%s: %+v, want a return of 0.733", name, r)
		}
	}
	x.Policy = &Policy{Sampler: &guesser{fail: func(uint64) bool { return true }}, Tokens: bytewise{},
		Template: tr.policy.Template, MaxTokens: 9}
	if _, err := x.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "all 300 episodes") {
		t.Errorf("error %v, want one that says that all failed", err)
	}
}
