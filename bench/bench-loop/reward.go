package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// reward measures steps of 96 tasks with 8 repetitions, with a native reward function and with one in Python, in turn.
func (b *bench) reward() error {
	if _, err := exec.LookPath("python3"); err != nil {
		fmt.Println("there is no python3, so the reward function in Python is not measured")
		return nil
	}
	f, err := newFar(b.ctx, tiny, b.folder())
	if err != nil {
		return err
	}
	defer f.close()
	tasks, err := b.taskset(mathFile, 96)
	if err != nil {
		return err
	}
	const taskset = "buffer.explorer_input.taskset."
	common := append(tasks, taskset+"default_workflow_type=simple_workflow")
	names := []string{"math_reward", "brief_reward of examples/python"}
	graded := [][]string{{taskset + "default_reward_fn_type=math_reward"},
		{taskset + "default_reward_fn_type=brief_reward", "--plugin-dir", "examples/python/plugins"}}
	took := make([][]time.Duration, len(names))
	for range 2 {
		for i := range names {
			f.reset(b.most, 0)
			if _, err := b.train(f, max(3, b.steps-2), mathRun, slices.Concat(common, graded[i])...); err != nil {
				return err
			}
			took[i] = append(took[i], f.intervals(1)...)
		}
	}
	var middle []time.Duration
	for i, all := range took {
		if len(all) == 0 {
			return errors.New("a run had too few optimizer steps")
		}
		slices.Sort(all)
		middle = append(middle, all[len(all)/2])
		fmt.Printf("a step of 96 × 8 with %s: %.3f s (%.3f to %.3f, %d steps)\n", names[i], middle[i].Seconds(),
			all[0].Seconds(), all[len(all)-1].Seconds(), len(all))
	}
	more := float64(middle[1])/float64(middle[0]) - 1
	fmt.Printf("the reward in Python costs %.1f %% of a step at %v a model call\n", 100*more, b.most)
	if more > .05 {
		return fmt.Errorf("the reward in Python costs %.1f %% of a step, 5 %% are allowed", 100*more)
	}
	return nil
}
