package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// offline are options with a hub that has nothing.
func offline(root string) run.Options {
	return run.Options{Hub: hub.New(hub.Options{Cache: filepath.Join(root, "no-such-cache"), Offline: true})}
}

// verdict has the answers of validate and run to a configuration.
type verdict struct {
	validate, run string
	refused       bool // by validate
	same          bool // run's error is validate's
	unknown       bool // validate let it through, as it cannot know, and run says what it cannot know
	began         bool // run made a step, or waits for another process
}

func (v verdict) agree() bool { return v.refused && v.same || !v.refused && (v.began || v.unknown) }

// verdict asks both. Without time for a step, a run that is not refused ends when it would fetch something.
func (x *example) verdict(ctx context.Context, overrides []string, o run.Options, limit time.Duration) (v verdict,
	err error) {
	o.LookupEnv = x.env
	cfg, err := config.Load(x.file, overrides, x.env, run.Plugins{}.Names())
	if err != nil { // both load it first
		return verdict{validate: "no: " + x.line(err), run: "no: the same", refused: true, same: true}, nil
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	in, refusal := run.Inspect(ctx, cfg, o)
	var unknown []string
	v.validate = "yes"
	if v.refused = refusal != nil; v.refused {
		v.validate = "no: " + x.line(refusal)
	} else {
		if unknown = in.Unknown; len(unknown) > 0 {
			v.validate = "yes; not here yet: " + x.line(errors.New(unknown[0]))
		}
		if err := in.Close(); err != nil {
			return v, err
		}
	}
	x.run(ctx, &v, cfg, o, refusal, unknown)
	return v, nil
}

// run adds what run says: refusal and unknown are what validate said.
func (x *example) run(ctx context.Context, v *verdict, cfg *config.Config, o run.Options, refusal error,
	unknown []string) {
	var out bytes.Buffer
	o.Out = &out
	sum, err := run.Run(ctx, cfg, o)
	if _, warning, ok := strings.Cut(out.String(), "warning: "); err != nil && ok {
		err = fmt.Errorf("%w: %s", err, warning)
	}
	switch {
	case err == nil && sum.Steps == 0 && cfg.Mode == config.Both && sampled(cfg):
		v.began, v.run = true, "samples its first step, of which its operators leave nothing"
	case err == nil:
		v.began, v.run = sum.Steps > 0 || cfg.Mode == config.Bench || cfg.Mode == config.Explore, "does its first step"
	case v.refused && err.Error() == refusal.Error():
		v.same, v.run = true, "no: the same"
	case strings.Contains(err.Error(), "why the explorer is late"):
		v.began, v.run = true, "waits for the explorer of another process"
	case sampled(cfg):
		v.began, v.run = true, "samples its first step, then: "+x.line(err)
	default:
		v.unknown = slices.ContainsFunc(unknown,
			func(u string) bool { return strings.Contains(u, err.Error()) || strings.Contains(err.Error(), u) })
		v.run = "no: " + x.line(err)
	}
}

// sampled reports whether a job has got as far as the samples of a step.
func sampled(cfg *config.Config) bool {
	files, err := filepath.Glob(filepath.Join(cfg.JobDir(), "rollouts", "*.jsonl"))
	return err == nil && len(files) > 0
}

// line is the first line of an error, and how many problems follow.
func (x *example) line(err error) string {
	text := strings.NewReplacer(x.dir, "DIR", x.root, "DIR").Replace(err.Error())
	text, rest, _ := strings.Cut(text, "\n")
	if _, place, ok := strings.Cut(text, ".yaml:"); ok {
		text = place
	}
	if before, _, hub := strings.Cut(text, " is not whole in the cache"); hub {
		_, text, _ = strings.Cut(before, "HF_HUB_OFFLINE is set and ")
	}
	if n := strings.Count(rest, ".yaml:"); n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	if runes := []rune(strings.ToValidUTF8(text, "?")); len(runes) > 500 {
		text = string(runes[:500]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
