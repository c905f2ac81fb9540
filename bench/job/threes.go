package job

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/run"
)

// LearnsThrees trains the shipped player on an environment that plays the game threes: with seeds 1, 2 and 3, which
// must learn, and with shuffled returns, which must not. open returns the environment's id and where it runs.
func LearnsThrees(ctx context.Context, steps int, open func() (id string, o run.Options, close func())) error {
	var problems []error
	for _, c := range []struct{ method, seed string }{
		{"reinforce", "1"}, {"reinforce", "2"}, {"reinforce", "3"}, {"shuffled", "1"},
	} {
		id, o, done := open()
		rise, err := threes(ctx, o, steps, "env_id="+id, "method="+c.method, "seed="+c.seed)
		done()
		if err == nil && (c.method == "reinforce" && rise < 0.2 || c.method == "shuffled" && rise > 0.1) {
			err = fmt.Errorf("the return rises by %.3f", rise)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s, seed %s: %w", c.method, c.seed, err))
		}
	}
	return errors.Join(problems...)
}

// threes is one of these runs. It returns by how much the held-out return rises.
func threes(ctx context.Context, o run.Options, steps int, id, method, seed string) (rise float64, err error) {
	_, lines, err := Gem(ctx, o, "model_name=examples/tiny/guess/model", "learning_rate=1e-3", "max_tokens=16",
		"max_steps="+strconv.Itoa(steps), "eval_every=5", "eval_episodes=200", id, method, seed)
	if err != nil {
		return 0, err
	}
	var curve []float64
	for _, l := range lines {
		for _, key := range l.Metrics.Keys() {
			if strings.HasPrefix(key, "eval/") && strings.HasSuffix(key, "/return") {
				curve = append(curve, l.Metrics[key])
			}
		}
	}
	_, value, _ := strings.Cut(seed, "=")
	_, kind, _ := strings.Cut(method, "=")
	fmt.Printf("%s, seed %s: held-out return %.3f\n", kind, value, curve)
	_, err = Exact(lines)
	return curve[len(curve)-1] - curve[0], err
}
