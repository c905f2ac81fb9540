package gem

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// strange guesses with ids that no encoder gives, those of the bytes and 256.
type strange struct{ most atomic.Int64 }

func (f *strange) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	most := req.Params.MaxTokens
	f.most.Store(int64(most))
	q := tinker.SampledSequence{StopReason: tinker.StopStop}
	for _, c := range []byte(`\boxed{99}`) {
		q.Tokens, q.Logprobs = append(q.Tokens, 256+int32(c)), append(q.Logprobs, -0.5)
	}
	if len(q.Tokens) > most {
		q.Tokens, q.Logprobs, q.StopReason = q.Tokens[:most], q.Logprobs[:most], tinker.StopLength
	}
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil), nil
}

// tags is a chat template that shows answers as they are, or trimmed of their first byte.
type tags struct{ cut bool }

func (g tags) Render(messages []chat.Message, _ chat.Options) (string, error) {
	var b strings.Builder
	for _, m := range messages {
		if g.cut && m.Role == "assistant" {
			m.Content = m.Content[1:]
		}
		fmt.Fprintf(&b, "<%s>%s</%s>", m.Role, m.Content, m.Role)
	}
	return b.String() + "<assistant>", nil
}

// chatter is a collector whose observations are chats in a template.
func chatter(t *testing.T, template tags, s tinker.SamplingClient, pairs ...string) *Trainer {
	tr := collector(t, t.TempDir(), s, append([]string{"template=no", "env_wrappers=concat_chat", "num_env=2",
		"batch_size=4"}, pairs...)...)
	made := tr.Make
	tr.Make = func() (env.Env, error) {
		e, err := made()
		return env.NewHistory(e, env.HistoryOptions{Mode: env.Chat, Renderer: template}), err
	}
	return tr
}

// Observations that tell the episode as the model knows it are read with the actions' own ids; in a template
// that changes them they are encoded anew, and such turns are counted.
func TestActionsKeepTheirTokens(t *testing.T) {
	for cut, method := range map[bool]string{false: "reinforce", true: "grpo"} {
		tr := chatter(t, tags{cut}, &strange{}, "method="+method, "group_size=2", "fork_turn=1")
		episodes, failed, err := tr.collect(context.Background(), 0)
		if err != nil || failed != 0 {
			t.Fatalf("%d failed, %v", failed, err)
		}
		m, turns := monitor.Metrics{}, 0
		episodeMetrics(m, episodes, failed)
		for _, e := range episodes {
			for i, x := range e {
				own := 0
				for _, id := range x.Tokens[:x.PromptLength] {
					if id > 255 {
						own++
					}
				}
				earlier := i
				if method == "grpo" {
					earlier++ // the opening's turn
				}
				if cut && earlier > 0 {
					turns++
				}
				want := earlier * len(`\boxed{99}`)
				if cut {
					want = 0
				}
				if own != want {
					t.Errorf("template that cuts %v: turn %d reads %d ids as sampled, want %d", cut, i, own, want)
				}
			}
		}
		if got := m["sampler/num_new_sequence"]; got != float64(turns) || cut && turns == 0 {
			t.Errorf("template that cuts %v: %g turns in a new sequence, want %d", cut, got, turns)
		}
		if _, there := m["sampler/num_new_sequence"]; there && !cut {
			t.Error("a metric without anything to count")
		}
	}
}

// An answer ends with the context and is counted; a prompt that fills it loses the episode, and not the run.
func TestContextEndsAnswers(t *testing.T) {
	s := &strange{}
	tr := chatter(t, tags{}, s)
	first, err := tr.Make()
	if err != nil {
		t.Fatal(err)
	}
	obs, err := first.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	tr.policy.Context = len(obs.Text) + 4
	turn, _, err := tr.policy.Answer(context.Background(), new(chat.Sequence), obs, "test", 0)
	if err != nil || len(turn.Response) != 4 || s.most.Load() != 4 {
		t.Errorf("%d tokens of %d, %v; want the 4 that are left", len(turn.Response), s.most.Load(), err)
	}
	tr.policy.Context = len(obs.Text)
	if _, _, err := tr.policy.Answer(context.Background(), new(chat.Sequence), obs, "full", 0); tinker.CategoryOf(
		err) != tinker.User {
		t.Errorf("a prompt as long as the context: %v", err)
	}
	tr.policy.Context = len(obs.Text) + 40 // one turn, no second
	_, failed, err := tr.round(context.Background(), 0, 0, nil)
	if failed != 2 || err == nil || !strings.Contains(err.Error(), "leaves no room") {
		t.Errorf("%d episodes failed, %v; want both", failed, err)
	}
}
