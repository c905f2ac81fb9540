package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/cmdline"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/simulate"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// loadsCmd is trinity bench: a server, or the head of a fleet.
type loadsCmd struct {
	Server loadCmd      `cmd:"" default:"withargs" help:"Put a Tinker server under load and measure it."`
	Fleet  loadFleetCmd `cmd:"" help:"Measure how the head of a fleet scales, with simulated workers."`
}

// loadFleetCmd measures how a fleet scales: the real head and the real NATS server in this process, and simulated
// workers, which sleep instead of computing, in another.
type loadFleetCmd struct {
	Simulate []int         `required:"" help:"Numbers of workers, each measured in turn." placeholder:"N,..."`
	Tasks    int           `help:"Tasks for each worker." default:"10"`
	Each     time.Duration `help:"Time that a task takes." default:"2s"`
	Spread   float64       `help:"Tasks take from (1-SPREAD) to (1+SPREAD) times as long." default:"0.2"`
	Latency  time.Duration `help:"Time that every byte travels, in each direction." default:"50ms"`
	Payload  cmdline.Bytes `help:"Size of a task." default:"8KiB"`
	Answer   cmdline.Bytes `help:"Size of an answer." default:"32KiB"`
	Verify   float64       `help:"Share of the tasks that is computed twice." default:"0"`
	Slow     float64       `help:"Stretch time SLOW times: tasks, latency, beats. For busy machines." default:"1"`
	Picture  string        `help:"A picture to write, efficiency over workers; its name ends in .svg or .png."`
	Format   string        `short:"f" help:"Output format: table or json." enum:"table,json" default:"table"`

	Crew   string `hidden:""` // credentials: this process is the workers
	Caches string `hidden:""`
	CPU    string `hidden:"" name:"cpu"` // file for a profile of the head, and with .crew behind it of the workers
}

// Run implements the command.
func (c *loadFleetCmd) Run(s *surroundings) error {
	ctx, cancel := s.untilStop()
	defer cancel()
	if c.Crew != "" {
		stop, err := profile(c.CPU)
		if err != nil {
			return err
		}
		defer stop()
		crew := simulate.Crew{Creds: c.Crew, Dir: c.Caches, N: c.Simulate[0], Delay: c.Latency, Version: version()}
		return crew.Run(ctx)
	}
	if c.Tasks < 1 || c.Each <= 0 || c.Spread < 0 || c.Spread >= 1 || c.Slow < 1 {
		return usageError{errors.New("bench: --tasks and --slow must be at least 1, --each above 0, --spread from 0 " +
			"to below 1")}
	}
	if c.Picture != "" {
		if _, err := plot.FormatOf(c.Picture); err != nil {
			return usageError{err}
		}
	}
	r := remote{Format: c.Format}
	var rows []string
	var reports []fleetReport
	for _, n := range c.Simulate {
		if n < 1 {
			return usageError{fmt.Errorf("bench: --simulate %d: there must be a worker", n)}
		}
		got, err := c.measure(ctx, s, n)
		if err != nil {
			return fmt.Errorf("bench: %d workers: %w", n, err)
		}
		reports = append(reports, got)
		rows = append(rows, fmt.Sprintf("%d\t%d\t%s\t%s\t%.1f %%\t%.2f\t%.0f MiB\t%d\t%d", n, got.Tasks,
			load.Show(got.Wall), load.Show(got.Ideal), 100*got.Efficiency, got.Cores, got.Peak/(1<<20),
			got.Status.Copies, got.Status.Resent))
	}
	if err := c.draw(reports); err != nil {
		return err
	}
	return r.show(s, reports, "WORKERS\tTASKS\tWALL\tIDEAL\tEFFICIENCY\tHEAD CORES\tHEAD PEAK\tCOPIES\tRESENT", rows)
}

// draw writes the picture, if one is asked for.
func (c *loadFleetCmd) draw(reports []fleetReport) error {
	if c.Picture == "" {
		return nil
	}
	format, err := plot.FormatOf(c.Picture)
	if err != nil {
		return err
	}
	run := plot.Run{Name: fmt.Sprintf("tasks of %v, %v in each direction", c.Each, c.Latency)}
	ideal := plot.Run{Name: "all workers busy all the time"}
	for i, r := range reports {
		run.Points = append(run.Points, plot.Point{Step: c.Simulate[i], Value: 100 * r.Efficiency})
		ideal.Points = append(ideal.Points, plot.Point{Step: c.Simulate[i], Value: 100})
	}
	f, err := os.Create(c.Picture)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	curves := plot.Curves{Title: "Efficiency of a fleet", Key: "% of ideal", Over: "workers", Zero: true,
		Runs: []plot.Run{run, ideal}}
	return errors.Join(curves.Draw(f, format), f.Close())
}

// stretched is a time of the measurement as it passes here.
func (c *loadFleetCmd) stretched(d time.Duration) time.Duration {
	return time.Duration(c.Slow * float64(d))
}

// fleetReport adds what the head needed.
type fleetReport struct {
	simulate.Report
	Cores float64 // processor time of the head, NATS included, by wall time; times Slow
	Peak  float64 // bytes of memory
}

// measure opens a head and gives its simulated workers the work.
func (c *loadFleetCmd) measure(ctx context.Context, s *surroundings, n int) (fleetReport, error) {
	dir, err := os.MkdirTemp("", "trinity-bench-fleet-")
	if err != nil {
		return fleetReport{}, err
	}
	defer os.RemoveAll(dir)
	h, err := fleet.Open(ctx, fleet.HeadOptions{Dir: filepath.Join(dir, "fleet"), Job: "bench", Listen: "127.0.0.1:0",
		Version: version(), Verify: c.Verify, Beat: c.stretched(2 * time.Second),
		Prefetch: c.stretched(300 * time.Millisecond), Log: func(line string) {
			if !strings.Contains(line, " joined: ") {
				fmt.Fprintln(s.err, line)
			}
		}})
	if err != nil {
		return fleetReport{}, err
	}
	defer h.Close()
	crew, err := c.startCrew(s, h, dir, n)
	if err != nil {
		return fleetReport{}, err
	}
	defer func() {
		if c.CPU == "" {
			crew.Process.Kill()
		} else {
			crew.Process.Signal(os.Interrupt) // it writes its profile
		}
		crew.Wait()
	}()
	for h.Workers() < n {
		select {
		case <-ctx.Done():
			return fleetReport{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	stop, err := profile(c.CPU)
	if err != nil {
		return fleetReport{}, err
	}
	defer stop()
	used := machine.ProcessorTime()
	got, err := simulate.Head(ctx, h, simulate.Work{Workers: n, Tasks: c.Tasks, Each: c.stretched(c.Each),
		Spread: c.Spread, Payload: int(c.Payload), Answer: int(c.Answer)})
	r := fleetReport{Report: got, Peak: machine.PeakMemory()}
	r.Cores = c.Slow * (machine.ProcessorTime() - used).Seconds() / got.Wall.Seconds()
	return r, err
}

// startCrew starts the simulated workers in a process of their own.
func (c *loadFleetCmd) startCrew(s *surroundings, h *fleet.Head, dir string, n int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "bench", "fleet", "--simulate", strconv.Itoa(n), "--crew", h.Creds(),
		"--caches", filepath.Join(dir, "caches"), "--latency", c.stretched(c.Latency).String())
	if c.CPU != "" {
		cmd.Args = append(cmd.Args, "--cpu", c.CPU+".crew")
	}
	cmd.Stderr = s.err
	return cmd, cmd.Start()
}

// profile writes a profile of this process's processor time into a file until stop is called; no file, no profile.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
