package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/ownserver"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// loadCmd puts a Tinker server under load. Without an address it starts a new server in a new folder. It then also
// measures what is visible only on the same machine: start, memory, and the round trip beside engine and disk.
type loadCmd struct {
	remote
	Base         string   `help:"Base model; default: the server's first." placeholder:"MODEL"`
	Data         string   `help:"A folder on a disk, for the new server." default:"." placeholder:"DIR"`
	Trips        int      `help:"Number of round trips of one training request." default:"400"`
	Runs         int      `help:"Training runs at once." default:"24"`
	Steps        int      `help:"Steps of each training run." default:"10"`
	Samples      int      `help:"Samples at once." default:"256"`
	Burst        int      `help:"Samples, and as many training requests, pending at once." default:"2048"`
	Models       []string `help:"Base models of the new server, as for serve." placeholder:"DIR"`
	Small        int      `help:"Small samples drawn beside another tenant's flood; 0 skips this." default:"200"`
	FloodRuns    int      `help:"Training runs of the flood, each with 4 pending batches." default:"8"`
	FloodSamples int      `help:"Pending samples of the flood, 256 tokens each." default:"64"`
	Strict       bool     `help:"Fail when a bound is missed; a busy machine can miss it."`
}

// tripTokens is the length of the datum of a round trip.
const tripTokens = 32

// Run implements the command.
func (c *loadCmd) Run(s *surroundings) error {
	if v, _ := s.env("TINKER_BASE_URL"); c.BaseURL == "" && v == "" {
		return c.own(s)
	}
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		l, err := load.New(ctx, t, c.Base)
		if err != nil {
			return err
		}
		trip, err := l.Trip(ctx, tripTokens)
		if err == nil {
			err = trip.Go(ctx, c.Trips)
		}
		if err != nil {
			return err
		}
		found := []load.Finding{{What: "model", Measured: l.Base()}, trip.Finding()}
		more, err := l.Crowd(ctx, load.Crowd{Runs: c.Runs, Steps: c.Steps, Samples: c.Samples, Burst: c.Burst})
		return errors.Join(c.report(s, append(found, more...)), err)
	})
}

// own starts a server and measures it.
func (c *loadCmd) own(s *surroundings) error {
	dir, err := os.MkdirTemp(c.Data, "trinity-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kind, err := machine.FileSystem(dir)
	if err != nil {
		return usageError{fmt.Errorf("bench: %w; name a folder on a disk with --data", err)}
	}
	server, err := ownserver.Start(dir, c.Models...)
	if err != nil {
		return err
	}
	defer server.End()
	ctx := s.ctx
	log := func(msg string) { fmt.Fprintln(s.err, msg) }
	t, err := client.Open(ctx, client.Options{BaseURL: server.URL, APIKey: "tml-bench", Log: log})
	if err != nil {
		return err
	}
	defer t.Close()
	first, err := server.FirstSample(ctx, t)
	if err != nil {
		return err
	}
	l, err := load.New(ctx, t, c.Base)
	if err != nil {
		return err
	}
	found := []load.Finding{{What: "model", Measured: l.Base() + ", data on " + kind},
		{What: "exec to first sample", Measured: load.Show(first), Bound: "1 s", Missed: first > time.Second}}
	trips, err := c.trips(s, l, dir)
	if err != nil {
		return err
	}
	more, err := l.Crowd(ctx, load.Crowd{Runs: c.Runs, Steps: c.Steps, Samples: c.Samples, Burst: c.Burst})
	found = append(append(found, trips...), more...)
	if err == nil && c.Small > 0 {
		more, err = server.Flood(ctx, l, ownserver.Flood{Runs: c.FloodRuns, Samples: c.FloodSamples, Small: c.Small})
		found = append(found, more...)
	}
	found = append(found, load.Finding{What: "peak memory of the server", Measured: server.Peak()})
	return errors.Join(c.report(s, found), err)
}

// trips alternates round trips, engine calls and fsyncs, so that other load on the machine affects all three alike.
func (c *loadCmd) trips(s *surroundings, l *load.Load, dir string) ([]load.Finding, error) {
	alone, err := openAlone(s, l.Base(), c.Models)
	if err != nil {
		return nil, err
	}
	defer alone.Close()
	direct, err := load.New(s.ctx, alone, l.Base())
	if err != nil {
		return nil, err
	}
	trip, err := l.Trip(s.ctx, tripTokens)
	if err != nil {
		return nil, err
	}
	call, err := direct.Trip(s.ctx, tripTokens)
	if err != nil {
		return nil, err
	}
	probe, err := disk.OS().Append(filepath.Join(dir, "probe"))
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	var fsync load.Times
	const rounds = 20
	for range rounds {
		n := max(1, c.Trips/rounds)
		if err := errors.Join(trip.Go(s.ctx, n), call.Go(s.ctx, n), syncs(probe, n, &fsync)); err != nil {
			return nil, err
		}
	}
	bound := call.Times.At(.5) + 2*fsync.At(.5) + time.Millisecond
	round := trip.Finding()
	round.Bound, round.Missed = load.Show(bound)+" = engine + 2 fsync + 1 ms", trip.Times.At(.5) > bound
	return []load.Finding{round, {What: "  engine alone, p50", Measured: load.Show(call.Times.At(.5))},
		{What: "  fsync, p50", Measured: load.Show(fsync.At(.5))}}, nil
}

// openAlone opens an engine in this process with a base model of the program's own server.
func openAlone(s *surroundings, base string, folders []string) (*engine.Engine, error) {
	models, err := findModels(s, folders, nil)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trinity-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // nothing is saved
	return engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{base: models.Models[base]}})
}

func syncs(f disk.File, n int, into *load.Times) error {
	for range n {
		begun := time.Now()
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		into.Add(time.Since(begun))
	}
	return nil
}

// report prints the findings; with Strict a missed bound is an error.
func (c *loadCmd) report(s *surroundings, found []load.Finding) error {
	var rows []string
	var missed error
	for _, f := range found {
		bound := ""
		if f.Bound != "" {
			bound = "at most " + f.Bound + ": kept"
		}
		if f.Missed {
			bound = "at most " + f.Bound + ": MISSED"
			missed = errors.Join(missed, fmt.Errorf("bench: %s: %s; the bound is %s", f.What, f.Measured, f.Bound))
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.What, f.Measured, bound))
	}
	if !c.Strict {
		missed = nil
	}
	return errors.Join(c.show(s, found, "WHAT\tMEASURED\tBOUND", rows), missed)
}
