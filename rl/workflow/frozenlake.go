package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// FrozenLake is frozen_lake_workflow: walk over a frozen lake to the goal, a turn a step, with Gymnasium's rules and
// upstream's maps. The row's columns size, p (how likely a tile is frozen) and seed make the map; workflow_args are
//
//	env_max_steps    of the path that a map must have (8)
//	agent_max_steps  turns (10)
//	is_slippery      a step goes sideways two times in three (false)
//	desc             a map for all tasks, a list of rows of S, F, H and G
//
// An experience is a whole episode; its reward is 1 if it reaches the goal, else 0.
type FrozenLake struct{}

// lakeTokens bounds what follows the first prompt of an episode, answers and observations together, unless
// max_response_tokens is given.
const lakeTokens = 10240

const lakeRules = "You walk on a frozen lake from tile to tile. P is you, G the goal, _ ice, O a hole.\n" +
	"Reach the goal in as few steps as you can, without falling into a hole. Ice may be slippery: then a step may go " +
	"sideways.\n" +
	"In each turn think first, then write your next step, one of Up, Down, Left and Right, between triple backticks, " +
	"such as ```Up```."

// Run implements Workflow.
func (FrozenLake) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	a, err := lakeArgs(r.Args)
	if err != nil {
		return nil, err
	}
	lake, seed, err := a.lake(t)
	if err != nil {
		return nil, err
	}
	return r.episodes(t, func(run int) ([]*experience.Experience, error) {
		e, err := a.episode(ctx, r, t, run, lake, seed)
		return []*experience.Experience{e}, err
	})
}

// Prepare implements Preparer: the lake rewards.
func (FrozenLake) Prepare(r *Rollout) error {
	_, err := lakeArgs(r.Args)
	return err
}

type lakeOptions struct {
	pathSteps, turns int
	slippery         bool
	desc             []string
}

func lakeArgs(args map[string]any) (lakeOptions, error) {
	given := arg.Read(args)
	a := lakeOptions{pathSteps: given.Int("env_max_steps", 8, 1), turns: given.Int("agent_max_steps", 10, 1),
		slippery: given.Bool("is_slippery", false)}
	if v, ok := given.Any("desc"); ok {
		a.desc, ok = lakeRows(v)
		given.Require(ok, "desc", v, "rows of one length of the letters S, F, H and G, with one S and a G")
	}
	if err := given.Close(); err != nil {
		return a, fmt.Errorf("workflow: frozen_lake_workflow: workflow_args.%w", err)
	}
	return a, nil
}

// lakeRows reads a map: equal rows of S, F, H and G, with one S.
func lakeRows(v any) (rows []string, ok bool) {
	list, _ := v.([]any)
	for _, row := range list {
		text, _ := row.(string)
		rows = append(rows, text)
	}
	all := strings.Join(rows, "")
	for _, row := range rows {
		if len(row) != len(rows[0]) || strings.Trim(row, "SFHG") != "" {
			return nil, false
		}
	}
	return rows, strings.Count(all, "S") == 1 && strings.Contains(all, "G")
}

// lake is the task's map, and the seed of its slips.
func (a lakeOptions) lake(t Task) (rows []string, seed uint64, err error) {
	size, p := 1.0, 0.8
	number := func(column string, into *float64) error {
		v, ok := t.Row.Get(column)
		if !ok {
			return nil
		}
		if f, ok := arg.Float(v); ok {
			*into = f
			return nil
		}
		return fmt.Errorf("workflow: frozen_lake_workflow: the column %s of row %d is %v; it must be a number", column,
			t.Index, v)
	}
	s := 42.0
	if err := errors.Join(number("size", &size), number("p", &p), number("seed", &s)); err != nil {
		return nil, 0, err
	}
	if a.desc != nil {
		return a.desc, uint64(s), nil
	}
	if size < 2 || size > 100 || size != float64(int(size)) || !(p > 0) || s < 0 {
		return nil, 0, fmt.Errorf("workflow: frozen_lake_workflow: row %d has size %g, p %g and seed %g; a map needs "+
			"a whole size from 2 to 100, p above 0 and a seed that is not negative", t.Index, size, p, s)
	}
	rows, err = makeLake(int(size), min(1, p), uint64(s), a.pathSteps)
	return rows, uint64(s), err
}

// episode walks once.
func (a lakeOptions) episode(ctx context.Context, r *Rollout, t Task, run int, rows []string,
	seed uint64) (*experience.Experience, error) {
	draws := rng.New(t.Seed).Stream("episode", run)
	w := newWalker(rows, seed, a.slippery)
	c := &conversation{r: r}
	if err := c.say(chat.Message{Role: "system", Content: lakeRules}); err != nil {
		return nil, err
	}
	limit := r.Params.MaxTokens
	if limit <= 0 {
		limit = lakeTokens
	}
	steps, cut, stuck := 0, false, false
	for ; steps < a.turns && strings.IndexByte("GH", w.tile()) < 0; steps++ {
		text := fmt.Sprintf("The lake after %d steps:\n%s\nYou are not at the goal yet. What is your next step?", steps,
			w)
		if stuck {
			text += "\nYour last answer did not move you. Look at its form: one of Up, Down, Left and Right between " +
				"triple backticks, such as ```Up```."
		}
		if err := c.say(chat.Message{Role: "user", Content: fmt.Sprintf("%s\nYou have %d steps left.", text,
			a.turns-steps)}); err != nil {
			return nil, err
		}
		room, err := c.room(limit)
		if err != nil {
			return nil, err
		}
		if cut = room <= 0; cut {
			break
		}
		answer, err := c.answer(ctx, room, draws.Uint64())
		if err != nil {
			return nil, err
		}
		y, x := w.y, w.x
		if step, ok := readStep(answer); ok {
			w.move(step)
		}
		stuck = y == w.y && x == w.x
	}
	reward := 0.0
	if w.tile() == 'G' {
		reward = 1
	}
	e := c.experience(t, run, reward, cut)
	e.Metrics["env_steps"], e.Metrics["test_score"], e.Metrics["env_done"] = float64(steps), reward, 0
	if w.tile() == 'G' || w.tile() == 'H' {
		e.Metrics["env_done"] = 1
	}
	return e, nil
}
