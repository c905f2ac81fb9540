package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
)

const (
	// killStep is the step of GRPO after which the program is killed.
	killStep = 4
	// repeatedSteps is the number of steps that a job which is not killed repeats.
	repeatedSteps = 7
)

// killed runs a job with the program itself, by the command of the example, and kills it after some steps of GRPO,
// once.
func (x *experiment) killed(name string) part {
	return func(ctx context.Context) error {
		stage, fact := name+"/grpo", name+"-killed"
		text, err := x.fact(fact)
		if err != nil || text != "" {
			fmt.Println(text)
			return err
		}
		made, err := x.Step(stage)
		if err != nil {
			return err
		}
		if made >= repeatedSteps {
			return fmt.Errorf("%s has made %d steps and was not killed; remove %s to begin it again", stage, made,
				x.Folder(name, "grpo"))
		}
		stop := x.clock(name)
		err = x.kill(ctx, name, stage, max(killStep, made+1))
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		if made, err = x.Step(stage); err != nil {
			return err
		}
		text = fmt.Sprintf("%s: killed after step %d of GRPO", name, made)
		fmt.Println(text)
		return x.keep(fact, text)
	}
}

// kill runs a job and kills it once a stage has made that many steps.
func (x *experiment) kill(ctx context.Context, name, stage string, step int) error {
	program, err := x.program(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "run", "--config", "examples/gsm8k/gsm8k.yaml", "name="+name)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(x.Dir, "cache"))
	for key, value := range x.Env() {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := x.Await(step, stage, ended); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-ended
	return nil
}

// repeats runs the first steps of another job's GRPO again, without a kill: they must have the same bits.
func (x *experiment) repeats(name, other string) part {
	return func(ctx context.Context) error {
		stage := name + "/grpo"
		if err := x.share(name)(ctx); err != nil {
			return err
		}
		if made, err := x.Step(stage); err != nil {
			return err
		} else if made < repeatedSteps {
			if err := x.RunTo(ctx, repeatedSteps, stage, x.Job(name)); err != nil {
				return err
			}
		}
		got, err := x.Lines(stage)
		if err != nil {
			return err
		}
		want, err := x.Lines(other + "/grpo")
		if err != nil {
			return err
		}
		if min(len(got), len(want)) < repeatedSteps {
			return fmt.Errorf("%s has %d steps and %s %d, want %d", name, len(got), other, len(want), repeatedSteps)
		}
		if err := job.Same(got[:repeatedSteps], want[:repeatedSteps]); err != nil {
			x.problems = append(x.problems, fmt.Errorf("%s without the kill: %w", name, err))
			return nil
		}
		fmt.Printf("%d steps without the kill: the metrics have the same bits\n", repeatedSteps)
		return nil
	}
}
