package run

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// threesTemplate is examples/openenv/template.yaml.
const threesTemplate = "template=examples/openenv/template.yaml"

// served are the pairs of a short run on a server.
func served(t testing.TB, s *openenvtest.Server, more ...string) []string {
	return append(short(t.TempDir(), "env_id="+s.ID(threesTemplate), "eval_every=0", "group_size=4"), more...)
}

// onPolicy fails unless sampler and trainer agree to the last bit in each step.
func onPolicy(t testing.TB, lines []monitor.Line) {
	t.Helper()
	if len(lines) == 0 {
		t.Error("nothing was trained")
	}
	for _, l := range lines {
		if v, ok := l.Metrics["train/kl_sample_train_v2"]; v != 0 || !ok {
			t.Errorf("step %d: sampler and trainer differ by %v (%v)", l.Step, v, ok)
		}
	}
}

// trinity gem plays an OpenEnv server exactly on policy. The metrics are the same with few sessions, with sessions that
// get lost, and with sessions that can be used only once.
func TestGemOpenEnv(t *testing.T) {
	for _, method := range []string{"reinforce", "grpo"} {
		dir, lines := gemRuns(t, playing(), served(t, openenvtest.Start(t, openenvtest.Options{}), "method="+method))
		onPolicy(t, lines)
		recorded(t, dir)
		var cut atomic.Int64
		for name, o := range map[string]openenvtest.Options{
			"two sessions": {Max: 2},
			"stateful":     {Stateful: true},
			"cut": {Alter: func(session, _ int, asked, answer string) (string, openenvtest.Fate) {
				if session > 1 && strings.Contains(asked, `"step"`) && cut.Add(1)%7 == 0 {
					return "", openenvtest.Drop
				}
				return answer, openenvtest.Send
			}},
		} {
			_, again := gemRuns(t, playing(), served(t, openenvtest.Start(t, o), "method="+method))
			same(t, method+", "+name, again, lines)
		}
		if cut.Load() < 14 {
			t.Errorf("%s: %d steps were counted; too few to lose sessions", method, cut.Load())
		}
	}
}

// recorded checks the episodes that a run wrote down.
func recorded(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "rollouts", "openenv.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	for _, line := range lines {
		var e openenv.Episode
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if len(e.Messages) < 2*(1+len(e.Answers)) || e.Turns != len(e.Answers) || e.End == "" ||
			!strings.Contains(e.Messages[0].Sent, `"seed":`) {
			t.Errorf("an episode is recorded as %s", line)
		}
	}
	if len(lines) < 12 {
		t.Errorf("%d episodes are recorded, want at least 12", len(lines))
	}
}

// gem_workflow plays the tasks of a server, one for each row, and several turns without a gap.
func TestGemWorkflowOpenEnv(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	load := func(more ...string) *config.Config {
		cfg, err := config.Load("../examples/tiny/guess/workflow.yaml", append([]string{
			"checkpoint_root_dir=" + t.TempDir(),
			"buffer.batch_size=4", "algorithm.repeat_times=4", "buffer.total_steps=2", "trainer.total_steps=2",
			"explorer.eval_on_startup=false", "explorer.eval_interval=100",
			"buffer.explorer_input.taskset.workflow_args.max_turns=3",
			"buffer.explorer_input.taskset.workflow_args.env_id=" + server.ID(threesTemplate+"&split=train"),
			"buffer.explorer_input.taskset.workflow_args.strict_seed=true"}, more...), noEnv)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := load()
	lines := runs(t, cfg, playing())
	onPolicy(t, lines)
	for _, l := range lines {
		if v := l.Metrics["rollout/num_turns/mean"]; v <= 1 || v > 3 {
			t.Errorf("step %d: %v turns an episode", l.Step, v)
		}
	}
	recorded(t, cfg.JobDir())
	data, err := os.ReadFile(filepath.Join(cfg.JobDir(), "rollouts", "openenv.jsonl"))
	if want := `"split":"train","index":3,"task":{"id":"train-3","index":3,"example":4}`; err != nil ||
		!strings.Contains(string(data), want) {
		t.Errorf("no episode has %s, error %v", want, err)
	}
	same(t, "the same again", runs(t, load(), playing()), lines)
}

// A server that ignores seeds plays groups that begin in different states, with a warning; strict_seed refuses it.
func TestGemOpenEnvSeedless(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{Seedless: true})
	o := playing()
	for range 10 { // until two starts that differ show it
		var out bytes.Buffer
		o.Out = &out
		err := Gem(t.Context(), served(t, server, "method=grpo", "strict_seed=true"), o)
		if err == nil {
			continue
		}
		if want := "ignores the seed of reset, and strict_seed is true"; !strings.Contains(err.Error(), want) {
			t.Errorf("strict_seed: error %v, want %q", err, want)
		}
		if want := "let reset draw everything from its argument"; !strings.Contains(out.String(), want) {
			t.Errorf("no note says %q:\n%s", want, out.String())
		}
		_, lines := gemRuns(t, playing(), served(t, server, "method=grpo"))
		onPolicy(t, lines)
		return
	}
	t.Error("the server was not found out")
}

// A server that always fails ends the run with what it says, and no episode counts as one.
func TestGemOpenEnvFails(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{
		Alter: func(_, _ int, asked, answer string) (string, openenvtest.Fate) {
			if strings.Contains(asked, `"step"`) {
				return `{"type":"error","data":{"message":"no more disk","code":"EXECUTION_ERROR"}}`, openenvtest.Send
			}
			return answer, openenvtest.Send
		}})
	err := Gem(t.Context(), served(t, server), playing())
	want := "3 rounds of 4 episodes failed, the last time so: env: openenv:"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no more disk") {
		t.Errorf("error %v, want %q and what the server says", err, want)
	}
}
