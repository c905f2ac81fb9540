package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A server over a worker gives the answers of a server alone, and trinity fleet shows and drains the worker.
func TestServeFleet(t *testing.T) {
	alone := newProcess(t, t.TempDir(), "--threads", "1")
	alone.start()
	want := &crowd{ctx: t.Context(), url: alone.url}
	want.open(t)
	wantScript := want.script(0)
	if want.err != nil {
		t.Fatalf("the server alone: %v\n%s", want.err, alone.errOut)
	}
	alone.kill()

	home, metrics := t.TempDir(), freeAddress(t)
	p := newProcess(t, home, "--threads", "1", "--fleet", freeAddress(t), "--fleet-verify", "0.5", "--fleet-metrics",
		metrics, "--no-fleet-local")
	p.start()
	data := filepath.Join(home, "data")
	workers := &crew{t: t, home: home, said: &lockedBuffer{}, creds: filepath.Join(data, "fleet", "worker.creds")}
	t.Cleanup(func() {
		for len(workers.workers) > 0 {
			workers.kill()
		}
	})
	workers.join()
	c := &crowd{ctx: t.Context(), url: p.url}
	c.open(t)
	some := regexp.MustCompile(`(?m)^trinity_fleet_tasks_done_total [1-9]`)
	for n := 0; n < 20 && !some.MatchString(fleetSays(t, home, "metrics", data)); n++ { // until the worker has joined
		if got := c.script(n); !c.ok() || !slices.Equal(got, wantScript) {
			t.Fatalf("a script over a worker: %v\n%v\nalone:\n%v\nthe server said:\n%s", c.err, got, wantScript,
				p.errOut)
		}
	}
	checkFleet(t, home, data, metrics)
	fleetSays(t, home, "drain", data, "w1")
	if err := workers.workers[0].Wait(); err != nil || !strings.Contains(workers.said.String(), "left serve") {
		t.Errorf("a drained worker ended with %v and said:\n%s", err, workers.said)
	}
	workers.workers = nil
	p.kill()
	out, err := trinity(home, "fleet", data).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "does the head run?") {
		t.Errorf("trinity fleet without a head: %v\n%s", err, out)
	}
}

// fleetSays is what trinity fleet prints.
func fleetSays(t *testing.T, home string, args ...string) string {
	t.Helper()
	out, err := trinity(home, append([]string{"fleet"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("trinity fleet %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// checkFleet looks at a fleet whose worker w1 has computed something.
func checkFleet(t *testing.T, home, data, metrics string) {
	t.Helper()
	table := fleetSays(t, home, data)
	if !regexp.MustCompile(`(?m)^w1 +U\w+ +here +`).MatchString(table) || strings.Contains(table, " 0 tasks done") {
		t.Errorf("trinity fleet shows\n%s", table)
	}
	if text := fleetSays(t, home, "list", "-f", "json", data); !strings.Contains(text, `"State": "here"`) {
		t.Errorf("trinity fleet -f json shows\n%s", text)
	}
	resp, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), `trinity_fleet_worker_here{worker="w1",id="U`) {
		t.Errorf("/metrics: %v\n%s", err, text)
	}
	if text := fleetSays(t, home, "rotate", data); !strings.Contains(text, "worker.creds is new") {
		t.Errorf("trinity fleet rotate says %q", text)
	}
}
