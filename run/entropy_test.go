package run

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// One batch has one entropy: with a Tinker adapter, with all weights training as veRL has it, and on a server.
func TestEntropyOfBothBackends(t *testing.T) {
	t.Parallel()
	args := append(tinyRun, "algorithm.entropy_loss_fn_args={entropy_coef: 0.01}",
		"algorithm.loss_agg_mode=seq-mean-token-mean", "buffer.total_steps=1", "trainer.total_steps=1")
	remote := options()
	remote.LookupEnv = withKey
	type backend struct {
		name string
		o    Options
		args []string
	}
	var first [2]float64
	for i, b := range []backend{
		{"tinker", options(), nil},
		{"verl", options(), []string{"model.tinker.enable=false"}},
		{"verl with an adapter", options(),
			[]string{"model.tinker.enable=false", "model.lora_configs=[{lora_rank: 8}]"}},
		{"server", remote, []string{"model.tinker.base_url=" + serve(t)}},
	} {
		m := runs(t, load(t, t.TempDir(), append(args, b.args...)...), b.o)[0].Metrics
		got := [2]float64{m["actor/entropy"], m["actor/entropy_loss"]}
		if i == 0 {
			first = got
		}
		for k := range got {
			if math.Abs(got[k]-first[k]) > 1e-5 || !(got[k] > 0) {
				t.Errorf("%s: entropy %v and its term %v, with tinker %v", b.name, got[0], got[1], first)
			}
		}
	}
}

// An entropy bonus keeps the model undecided: after some steps its entropy is above that of a run with a malus.
func TestEntropyBonusWorks(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEntropyOfBothBackends")
	args := append(tinyRun, "buffer.total_steps=5", "trainer.total_steps=5", "algorithm.optimizer.lr=2e-3",
		"algorithm.optimizer.lr_warmup_steps=0", "model.max_response_tokens=12")
	last := map[string]float64{}
	for _, coef := range []string{"1", "0", "-1"} {
		lines := runs(t, load(t, t.TempDir(), append(args, "algorithm.entropy_loss_fn_args={entropy_coef: "+coef+
			"}")...), onEngine())
		last[coef] = lines[len(lines)-1].Metrics["actor/entropy"]
	}
	if !(last["1"] > last["0"]+0.05 && last["0"] > last["-1"]+0.05) {
		t.Errorf("entropies after five steps by entropy_coef: %v", last)
	}
}

// modest is a service that has entropies only as the protocol does: not at all.
type modest struct{ tinker.Service }

func (m modest) Capabilities(ctx context.Context) (tinker.Capabilities, error) {
	caps, err := m.Service.Capabilities(ctx)
	caps.ExactEntropy = false
	return caps, err
}

// clipb and clipv decide by exact entropies where there are any; elsewhere by an estimate from the likeliest tokens,
// which is near and which the run says and names.
func TestClipByEntropy(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on the engine")
	}
	t.Parallel()
	for _, name := range []string{"clipb", "clipv"} {
		args := append(small, "algorithm.algorithm_type=grpo_verl", "algorithm.advantage_fn="+name,
			"algorithm.advantage_fn_args={mu: 0.5}", "explorer.eval_on_startup=false", "buffer.total_steps=1",
			"trainer.total_steps=1", "buffer.explorer_input.eval_tasksets=[]")
		exact := runs(t, load(t, t.TempDir(), args...), onEngine())[0].Metrics
		o := onEngine()
		o.Wrap = func(s tinker.Service) tinker.Service { return modest{s} }
		var out bytes.Buffer
		o.Out = &out
		sum, err := Run(t.Context(), load(t, t.TempDir(), args...), o)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if !strings.Contains(out.String(), "estimate") {
			t.Errorf("%s: the run does not say that entropies are estimates:\n%s", name, out.String())
		}
		est := sum.Lines[0].Metrics
		if _, there := est["actor/entropy"]; there {
			t.Errorf("%s: actor/entropy is there, and is not exact", name)
		}
		if e := est["actor/entropy_estimate_top20"]; math.Abs(exact["actor/entropy"]-e) > 0.02 {
			t.Errorf("%s: estimate %v, exact %v", name, e, exact["actor/entropy"])
		}
		key := map[string]string{"clipb": "advantage/ES", "clipv": "advantage/stdD"}[name]
		if math.Abs(exact[key]-est[key]) > 0.01 {
			t.Errorf("%s: %s = %v by estimates, exact %v", name, key, est[key], exact[key])
		}
		if exact["advantage/frac_clipped_neg"] == 0 {
			t.Errorf("%s: with mu 0.5 no token was left out", name)
		}
	}
}

// Killed between any of its requests, a run whose steps ask for entropies, a teacher or greedy rollouts ends with the
// metrics of an unbroken one.
func TestFetchingSurvivesKills(t *testing.T) {
	t.Parallel()
	few := append(tinyRun, "trainer.save_interval=1", "explorer.eval_on_startup=false", "model.tinker.rank=4",
		"algorithm.entropy_loss_fn_args={entropy_coef: 0.1}")
	for name, args := range map[string][]string{
		"grpo_verl": append(few, "algorithm.advantage_fn=clipb", "algorithm.entropy_loss_fn=default"),
		"jsd":       append(few, "algorithm.entropy_loss_fn=default"),
		"remax":     few,
	} {
		survivesKills(t, options(), 4, jobOf(func(t testing.TB, dir string) *config.Config {
			return ofAlgorithm(t, dir, name, args...)
		}))
	}
}
