package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// A server over a worker gives the answers of a server alone, and trinity fleet shows and drains the worker.
func TestServeFleet(t *testing.T) {
	t.Parallel()
	alone := newRunning(t, t.TempDir(), "--threads", "1")
	want := newCrowd(t, alone.URL)
	wantScript := want.script(0)
	if want.err != nil {
		t.Fatalf("the server alone: %v\n%s", want.err, alone.Said())
	}
	alone.Kill()

	s := newRunning(t, t.TempDir(), "--threads", "1", "--fleet", "127.0.0.1:0", "--fleet-verify", "0.5",
		"--fleet-metrics", "127.0.0.1:0", "--no-fleet-local")
	metrics := await(t, s.Process(), `Prometheus may read.*(http:\S+/metrics)`)[1]
	data := filepath.Join(s.Home, "data")
	workers := &program.Crew{Program: s.Program, Prefix: "w", Creds: await(t, s.Process(), program.Credentials)[1]}
	t.Cleanup(workers.Close)
	if err := workers.Join(); err != nil {
		t.Fatal(err)
	}
	await(t, workers.Worker(), "fleet: joined serve")
	c := newCrowd(t, s.URL)
	some := regexp.MustCompile(`(?m)^trinity_fleet_tasks_done_total [1-9]`)
	for n := 0; n < 20 && !some.MatchString(fleetSays(t, s, "metrics", data)); n++ { // until the head gives it tasks
		if got := c.script(n); !c.ok() || !slices.Equal(got, wantScript) {
			t.Fatalf("a script over a worker: %v\n%v\nalone:\n%v\nthe server said:\n%s", c.err, got, wantScript,
				s.Said())
		}
	}
	checkFleet(t, s, data, metrics)
	fleetSays(t, s, "drain", data, "w1")
	if err := workers.Worker().Wait(); err != nil || !strings.Contains(workers.Said(), "left serve") {
		t.Errorf("a drained worker ended with %v and said:\n%s", err, workers.Said())
	}
	s.Kill()
	if out, err := s.Run("fleet", data); err == nil || !strings.Contains(out, "does the head run?") {
		t.Errorf("trinity fleet without a head: %v\n%s", err, out)
	}
}

// fleetSays is what trinity fleet prints.
func fleetSays(t *testing.T, s *program.Server, args ...string) string {
	t.Helper()
	out, err := s.Run(append([]string{"fleet"}, args...)...)
	if err != nil {
		t.Fatalf("trinity fleet %v: %v\n%s", args, err, out)
	}
	return out
}

// checkFleet looks at a fleet whose worker w1 has computed something.
func checkFleet(t *testing.T, s *program.Server, data, metrics string) {
	t.Helper()
	table := fleetSays(t, s, data)
	if !regexp.MustCompile(`(?m)^w1 +U\w+ +here +`).MatchString(table) || strings.Contains(table, " 0 tasks done") {
		t.Errorf("trinity fleet shows\n%s", table)
	}
	if text := fleetSays(t, s, "list", "-f", "json", data); !strings.Contains(text, `"State": "here"`) {
		t.Errorf("trinity fleet -f json shows\n%s", text)
	}
	resp, err := http.Get(metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), `trinity_fleet_worker_here{worker="w1",id="U`) {
		t.Errorf("/metrics: %v\n%s", err, text)
	}
	if text := fleetSays(t, s, "rotate", data); !strings.Contains(text, "worker.creds is new") {
		t.Errorf("trinity fleet rotate says %q", text)
	}
}
