package service

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// openFleet starts the head of the fleet that a configuration asks for and lets the engine use it; nil: it asks for
// none.
func openFleet(ctx context.Context, j *job.Job, eo *engine.Options) (*dispatch.Fleet, error) {
	c := &j.Config.Fleet
	if !c.On() {
		return nil, nil
	}
	folder := "fleet"
	if j.Beside() { // beside the process that trains, which has a fleet of its own
		folder += "-" + string(j.Config.Mode)
	}
	f, err := dispatch.Open(ctx, fleet.HeadOptions{Dir: j.Dir.File(folder), Job: j.Config.Name, Listen: c.Listen,
		Advertise: c.Advertise, URL: c.URL, Creds: find(j, c.Creds), Cert: find(j, c.Cert), Key: find(j, c.Key),
		Signer: find(j, c.Signer), Metrics: c.Metrics, Verify: c.Verify, MaxAnswer: int64(c.MaxAnswer) << 20,
		Store: int64(c.Store) << 20, Version: j.Version,
		Log: func(line string) { j.Progress.Say(line) }})
	if err != nil {
		return nil, err
	}
	j.Opened(f.Close)
	eo.Pool, eo.PoolOnly, eo.PoolBytes = f, !c.Local, int64(c.Buffer)<<20
	for name, m := range eo.Models {
		m.Repo, m.Revision, _ = hub.Origin(m.Dir)
		eo.Models[name] = m
	}
	fmt.Fprintf(j.Out, "workers join with %s there: %s\n", f.Head.Creds(), f.Head.JoinLine())
	return f, nil
}

// find is where a file of the configuration is; "" stays.
func find(j *job.Job, path string) string {
	if path == "" {
		return ""
	}
	return j.Find(path)
}
