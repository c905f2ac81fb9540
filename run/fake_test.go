package run

import (
	"hash/fnv"
	"io"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// onEngine are the options of a run on the engine, with the files of this repository. It has one thread, since several
// tests run beside each other.
func onEngine() Options {
	return Options{Threads: 1, Find: func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join("..", path)
	}}
}

// options are those of a run on a service without arithmetic. What it answers is no answer, so math_reward grades it
// by chance.
func options() Options {
	return saying()
}

// saying are options of a run on a service without arithmetic whose models often say phrases.
func saying(phrases ...string) Options {
	o := onEngine()
	o.Machine = func(o engine.Options) (journal.Machine, error) { return fake.Open(o, phrases...) }
	o.Plugins.Rewards = map[string]reward.Func{"math_reward": byChance}
	return o
}

// playing are options of a run whose model answers with numbers in boxes, as players of games do.
func playing() Options {
	return saying(`\boxed{1}`, `\boxed{2}`, `\boxed{3}`, `\boxed{4}`, `\boxed{5}`, `\boxed{6}`, `\boxed{7}`)
}

// byChance is a reward that depends on every character of a response.
func byChance(s reward.Sample) (reward.Scores, error) {
	h := fnv.New32a()
	io.WriteString(h, s.Response)
	x := h.Sum32() >> 8
	return reward.Scores{{Name: "accuracy", Value: float64(x % 2)}, {Name: "format_score", Value: float64(x%5) / 10}},
		nil
}
