package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// overlap measures sync_style fully_async against fixed with an offset of 1, in turn, on a server that answers as many
// samples at a time as an explore step has: with answers that take very different times, and with even ones.
func (b *bench) overlap() error {
	const tasks, repeats, turns, steps = 8, 8, 3, 12
	f, err := newFar(b.ctx, guess, b.folder())
	if err != nil {
		return err
	}
	defer f.close()
	games, err := b.taskset(gamesFile, tasks)
	if err != nil {
		return err
	}
	common := append(games, oneTurn, fmt.Sprint("algorithm.repeat_times=", repeats))
	styles := [][]string{{"synchronizer.sync_style=fixed", "synchronizer.sync_offset=1"},
		{"synchronizer.sync_style=fully_async", "explorer.max_inflight_batches=2"}}
	for _, w := range []struct {
		what  string
		takes func(*rand.Rand) time.Duration
		least float64 // times as many steps
	}{
		{"20 to 400 tokens and a wait of up to 2 s, long-tailed", longTailed, 1.4},
		{"1 s each", func(*rand.Rand) time.Duration { return time.Second }, .97},
	} {
		took := make([][]time.Duration, len(styles))
		for range turns {
			for i, style := range styles {
				f.reset(50*time.Millisecond, 0)
				f.busy(tasks*repeats, w.takes)
				if _, err := b.train(f, steps, gamesRun, slices.Concat(common, style)...); err != nil {
					return err
				}
				took[i] = append(took[i], f.mean())
			}
		}
		var middle []time.Duration
		for i, style := range styles {
			slices.Sort(took[i])
			middle = append(middle, took[i][len(took[i])/2])
			fmt.Printf("answers of %s, %s: a step of %d × %d each %.3f s (%.3f to %.3f, %d runs of %d steps)\n",
				w.what, strings.TrimPrefix(style[0], "synchronizer."), tasks, repeats, middle[i].Seconds(),
				took[i][0].Seconds(), took[i][len(took[i])-1].Seconds(), len(took[i]), steps)
		}
		ratio := float64(middle[0]) / float64(middle[1])
		fmt.Printf("answers of %s: fully_async does %.2f times the steps of fixed with offset 1\n", w.what, ratio)
		if ratio < w.least {
			return fmt.Errorf("fully_async does %.2f times the steps of fixed, at least %.2f is wanted", ratio, w.least)
		}
	}
	return nil
}

// longTailed is how long an agent's answer takes: 20 to 400 tokens at 250 a second, and what it waits for, up to 2 s.
// Most are short.
func longTailed(draws *rand.Rand) time.Duration {
	tokens := 20 + 380*math.Pow(draws.Float64(), 4)
	wait := 2 * math.Pow(draws.Float64(), 4)
	return time.Duration((tokens/250 + wait) * float64(time.Second))
}

// mean is the time between optimizer steps, over all of them.
func (f *far) mean() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.steps) - 1
	return f.steps[n].Sub(f.steps[0]) / time.Duration(n)
}
