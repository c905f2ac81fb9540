package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// fleetCmd shows and changes the workers of a run or a server that is running.
type fleetCmd struct {
	List    fleetListCmd    `cmd:"" default:"withargs" help:"List the workers, their speed and their failures."`
	Drain   fleetDrainCmd   `cmd:"" help:"Let a worker finish what it has begun, and give it nothing more."`
	Remove  fleetRemoveCmd  `cmd:"" help:"Refuse a worker from now on; its tasks go to others."`
	Rotate  fleetRotateCmd  `cmd:"" help:"Make new credentials for workers to join with; refuse the old ones."`
	Metrics fleetMetricsCmd `cmd:"" help:"Print the fleet's numbers as Prometheus text."`
}

// fleetDir is the head's folder.
type fleetDir struct {
	Dir string `arg:"" help:"The job's or the server's folder, which holds fleet/admin.creds." placeholder:"DIR"`
}

// ask sends an order to the head.
func (d fleetDir) ask(verb, worker string) (fleet.Status, error) {
	dir := d.Dir
	if _, err := os.Stat(filepath.Join(dir, "fleet", "admin.creds")); err == nil {
		dir = filepath.Join(dir, "fleet")
	}
	return fleet.Ask(dir, verb, worker)
}

type fleetListCmd struct {
	fleetDir
	Format string `short:"f" help:"Output format: table or json." enum:"table,json" default:"table"`
}

// Run implements the command.
func (c *fleetListCmd) Run(s *surroundings) error {
	st, err := c.ask("status", "")
	if err != nil {
		return err
	}
	if c.Format == "json" {
		return printJSON(s.out, st)
	}
	fmt.Fprintf(s.out, "%s at %s: %d tasks done, %d open, %d wait; %d compared, %d differed; %d given out twice\n",
		st.Job, st.URL, st.Done, st.Open, st.Pending, st.Checked, st.Disputes, st.Copies)
	if st.Audited > 0 {
		fmt.Fprintf(s.out, "%d answers of machines that were set aside had been used: %d of them were wrong\n",
			st.Audited, st.UsedWrong)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORKER\tID\tSTATE\tPROCESSOR\tKERNELS\tTHREADS\tSPEED\tSHARE\tTASKS\tQUEUE\tLAG\tTRIP\t"+
		"FAILURES\tLOST")
	for _, k := range st.Workers {
		fmt.Fprintf(w, "%s\t%.8s\t%s\t%s\t%s\t%d\t%.0f/s\t%.1f %%\t%d\t%d\t%s\t%s\t%d\t%d\n", k.About.Name, k.ID,
			k.State, cmp.Or(k.About.Processor, "-"), cmp.Or(k.About.Kernels, "-"), k.About.Threads, k.Speed,
			100*k.Share, k.Done, k.Given, k.Lag.Round(100*time.Millisecond), load.Show(k.Trip),
			k.Failures+k.Bad, k.Lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, k := range st.Workers {
		if k.Why != "" {
			fmt.Fprintf(s.out, "%s is %s: %s\n", k.About.Name, k.State, k.Why)
		}
	}
	return nil
}

type fleetDrainCmd struct {
	fleetDir
	Worker string `arg:"" help:"The worker's name, its id, or the beginning of it."`
}

// Run implements the command.
func (c *fleetDrainCmd) Run(s *surroundings) error {
	_, err := c.ask("drain", c.Worker)
	return err
}

type fleetRemoveCmd struct {
	fleetDir
	Worker string `arg:"" help:"The worker's name, its id, or the beginning of it."`
}

// Run implements the command.
func (c *fleetRemoveCmd) Run(s *surroundings) error {
	_, err := c.ask("remove", c.Worker)
	return err
}

type fleetRotateCmd struct{ fleetDir }

// Run implements the command.
func (c *fleetRotateCmd) Run(s *surroundings) error {
	_, err := c.ask("rotate", "")
	if err == nil {
		fmt.Fprintln(s.out, "worker.creds is new; copy it to machines that join from now on")
	}
	return err
}

type fleetMetricsCmd struct{ fleetDir }

// Run implements the command.
func (c *fleetMetricsCmd) Run(s *surroundings) error {
	st, err := c.ask("status", "")
	if err != nil {
		return err
	}
	return st.WriteMetrics(s.out)
}
