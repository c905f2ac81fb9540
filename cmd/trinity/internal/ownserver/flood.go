package ownserver

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// floodKey is the key of the tenant that floods.
const floodKey = "tml-flood"

// Flood says how much of a flood there is: training runs and samples of 256 tokens, and small samples beside it.
type Flood struct{ Runs, Samples, Small int }

// Flood measures the small samples of one tenant beside the flood of another. They may take at most three times as long
// as alone, plus the time of one part of a training pass.
func (o *Server) Flood(ctx context.Context, l *load.Load, c Flood) ([]load.Finding, error) {
	t, err := client.Open(ctx, client.Options{BaseURL: o.URL, APIKey: floodKey})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	other, err := load.New(ctx, t, l.Base())
	if err != nil {
		return nil, err
	}
	before, err := o.figure(ctx, trainedTokens)
	if err != nil {
		return nil, err
	}
	r, err := l.Flood(ctx, other, load.Flood{Trainers: c.Runs, Datums: 32, Tokens: 128, Ahead: 4,
		Samples: c.Samples, Small: c.Small})
	if err != nil {
		return nil, err
	}
	after, err := o.figure(ctx, trainedTokens)
	if err != nil {
		return nil, err
	}
	seconds, err := o.figure(ctx, "trinity_engine_training_part_seconds_max")
	if err != nil {
		return nil, err
	}
	part := time.Duration(seconds * float64(time.Second))
	alone, beside := r.Alone.At(.99), r.Beside.At(.99)
	bound := 3*alone + part
	return []load.Finding{
		{What: "small sample alone", Measured: fmt.Sprintf("p50 %s, p99 %s of %d", load.Show(r.Alone.At(.5)),
			load.Show(alone), len(r.Alone))},
		{What: fmt.Sprintf("  beside another's flood (%d runs, %d samples)", c.Runs, c.Samples),
			Measured: fmt.Sprintf("p50 %s, p99 %s; the flood trained on %.0f tokens and drew %d samples",
				load.Show(r.Beside.At(.5)), load.Show(beside), after-before, r.Drawn),
			Bound:  fmt.Sprintf("%s = 3 × alone + %s, the longest layer", load.Show(bound), load.Show(part)),
			Missed: beside > bound}}, nil
}

// trainedTokens counts the tokens of backward passes.
const trainedTokens = `trinity_engine_tokens_total{phase="backward"}`

// figure reads one number from the server's metrics.
func (o *Server) figure(ctx context.Context, name string) (v float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			if _, err := fmt.Sscan(text, &v); err != nil {
				return 0, fmt.Errorf("bench: /metrics: %q: %w", lines.Text(), err)
			}
			return v, nil
		}
	}
	return 0, fmt.Errorf("bench: /metrics has no %s", name)
}
