package main

import (
	"fmt"
	"math"
)

// lesson is an experiment: a committed configuration and what is changed of it, with one or more seeds.
type lesson struct {
	name     string
	config   string
	seeds    int
	changes  string
	pictures []string // in docs/results
	check    func(before, after score) error
}

// score is the mean return on 500 held-out seeds, and its standard error.
type score struct{ mean, err float64 }

func (s score) String() string { return fmt.Sprintf("%.3f ± %.3f", s.mean, s.err) }

// minus is the difference in standard errors.
func (s score) minus(o score) float64 { return (s.mean - o.mean) / math.Hypot(s.err, o.err) }

// lessons lists the experiments of docs/results/gem.md.
func lessons() []lesson {
	const folder, shuffled = "examples/tiny/", "method=shuffled eval_every=20"
	easy := lesson{name: "easy", config: folder + "guess/easy.yaml", seeds: 3, check: reaches(.70, .87, .92),
		pictures: []string{"gem-easy", "gem-methods"}}
	hard := lesson{name: "hard", config: folder + "guess/hard.yaml", seeds: 3, check: reaches(0, .82, .92),
		pictures: []string{"gem-hard"}}
	all := []lesson{easy, hard}
	for _, game := range []string{"fifteen", "hanoi", "hangman"} {
		all = append(all, lesson{name: game, config: folder + "games/" + game + ".yaml", seeds: 3,
			pictures: []string{"gem-" + game}, check: rises})
	}
	for _, l := range all[:len(all):len(all)] {
		l.name, l.changes, l.seeds, l.check, l.pictures = l.name+", returns shuffled", shuffled, 1, stays,
			l.pictures[:1]
		all = append(all, l)
	}
	for _, changes := range []string{"use_rebn=False", "method=grpo", "method=grpo fork_turn=1"} {
		all = append(all, lesson{name: "easy, " + changes, config: easy.config, seeds: 3, changes: changes +
			" eval_every=20", pictures: []string{"gem-methods"}})
	}
	return append(all, lesson{name: "easy, the seed's learning rate and steps", config: easy.config, seeds: 1,
		changes: "learning_rate=4e-5 max_steps=20", check: stays})
}

// reaches wants a model that begins between two returns to come to a third.
func reaches(least, most, want float64) func(before, after score) error {
	return func(before, after score) error {
		if before.mean < least || before.mean > most || after.mean < want {
			return fmt.Errorf("return %v → %v; wanted from %.2f … %.2f to at least %.2f", before, after, least, most,
				want)
		}
		return nil
	}
}

// rises wants a gain of more than three standard errors.
func rises(before, after score) error {
	if after.minus(before) <= 3 {
		return fmt.Errorf("return %v → %v: a gain of %.1f standard errors, want more than 3", before, after,
			after.minus(before))
	}
	return nil
}

// stays wants no such gain.
func stays(before, after score) error {
	if after.minus(before) > 3 {
		return fmt.Errorf("return %v → %v: a gain of %.1f standard errors, want none", before, after,
			after.minus(before))
	}
	return nil
}
