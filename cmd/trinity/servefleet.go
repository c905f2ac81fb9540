package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

// fleetFlags ask for workers on other machines.
type fleetFlags struct {
	Fleet          string  `help:"Address where workers (trinity worker) connect." placeholder:"HOST:PORT"`
	FleetAdvertise string  `help:"Address that workers are told; default: that of --fleet." placeholder:"HOST:PORT"`
	FleetURL       string  `help:"A NATS cluster in place of --fleet." placeholder:"URL"`
	FleetCreds     string  `help:"This server's credentials there." placeholder:"FILE"`
	FleetSigner    string  `help:"Seed of its account's signing key: workers get their own rights." placeholder:"FILE"`
	FleetMetrics   string  `help:"Address where Prometheus reads the fleet's /metrics." placeholder:"HOST:PORT"`
	FleetVerify    float64 `help:"Share of the tasks that is computed twice." default:"0.01"`
	FleetLocal     bool    `help:"Compute here too; else only what workers cannot." default:"true" negatable:""`
}

// openFleet starts the head of the fleet and lets the engine use it; nil: there is none.
func (c *serveStart) openFleet(ctx context.Context, eo *engine.Options, log *slog.Logger) (*dispatch.Fleet, error) {
	if c.Fleet == "" && c.FleetURL == "" {
		return nil, nil
	}
	f, err := dispatch.Open(ctx, fleet.HeadOptions{Dir: filepath.Join(c.Data, "fleet"), Job: "serve", Listen: c.Fleet,
		Advertise: c.FleetAdvertise, URL: c.FleetURL, Creds: c.FleetCreds, Signer: c.FleetSigner,
		Metrics: c.FleetMetrics, Verify: c.FleetVerify, Version: version(), Log: func(line string) { log.Info(line) }})
	if err != nil {
		return nil, err
	}
	eo.Pool, eo.PoolOnly = f, !c.FleetLocal
	for name, m := range eo.Models {
		m.Repo, m.Revision, _ = hub.Origin(m.Dir)
		eo.Models[name] = m
	}
	log.Info("workers may join", "with", f.Head.Creds(), "command", f.Head.JoinLine())
	if at := f.Head.MetricsURL(); at != "" {
		log.Info("Prometheus may read", "url", at)
	}
	return f, nil
}

func (c *fleetFlags) checkFleet() error {
	switch {
	case c.Fleet != "" && c.FleetURL != "":
		return fmt.Errorf("serve: --fleet %s and --fleet-url %s; workers connect either here or to a cluster", c.Fleet,
			c.FleetURL)
	case c.FleetSigner != "" && (c.FleetURL == "" || c.FleetCreds == ""):
		return fmt.Errorf("serve: --fleet-signer %s is for --fleet-url with --fleet-creds", c.FleetSigner)
	case !(c.FleetVerify >= 0 && c.FleetVerify <= 1):
		return fmt.Errorf("serve: --fleet-verify is %v; it must be from 0 to 1", c.FleetVerify)
	}
	return nil
}
