package service

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// openFleet starts the head of the fleet that a configuration asks for and lets the engine use it; nil: it asks for
// none.
func (o Options) openFleet(ctx context.Context, eo *engine.Options) (*dispatch.Fleet, error) {
	c := &o.Config.Fleet
	if !c.On() {
		return nil, nil
	}
	folder := "fleet"
	if jobdir.Aside(o.Config) { // beside the process that trains, which has a fleet of its own
		folder += "-" + string(o.Config.Mode)
	}
	f, err := dispatch.Open(ctx, fleet.HeadOptions{Dir: o.Folder.File(folder), Job: o.Config.Name, Listen: c.Listen,
		Advertise: c.Advertise, URL: c.URL, Creds: o.find(c.Creds), Cert: o.find(c.Cert), Key: o.find(c.Key),
		Signer: o.find(c.Signer), Metrics: c.Metrics, Verify: c.Verify, MaxAnswer: int64(c.MaxAnswer) << 20,
		Store: int64(c.Store) << 20, Version: o.Site.Version,
		Log: func(line string) { o.Progress.Say(line) }})
	if err != nil {
		return nil, err
	}
	o.Opened(f.Close)
	eo.Pool, eo.PoolOnly, eo.PoolBytes = f, !c.Local, int64(c.Buffer)<<20
	for name, m := range eo.Models {
		m.Repo, m.Revision, _ = hub.Origin(m.Dir)
		eo.Models[name] = m
	}
	fmt.Fprintf(o.Site.Out, "workers join with %s there: %s\n", f.Head.Creds(), f.Head.JoinLine())
	return f, nil
}

// find is where a file of the configuration is; "" stays.
func (o Options) find(path string) string {
	if path == "" {
		return ""
	}
	return o.Site.Find(path)
}
