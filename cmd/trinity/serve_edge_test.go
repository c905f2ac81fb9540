package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// Once a key existed, keys are required: also after the last one is revoked, after a restart, and if the file cannot be
// read.
func TestKeysStayDemanded(t *testing.T) {
	data := dataFlag{t.TempDir()}
	path := filepath.Join(data.Data, "keys.json")
	at := func() (*server.KeyFile, bool) {
		f, err := data.openKeys(false)
		if err != nil {
			t.Fatal(err)
		}
		return f, f.Demanded()
	}
	first, demanded := at()
	if demanded {
		t.Error("keys are demanded where there never were any")
	}
	s := &surroundings{out: io.Discard, err: io.Discard}
	if err := (&keyAdd{dataFlag: data, Name: "ann"}).Run(s); err != nil {
		t.Fatal(err)
	}
	if !first.Demanded() {
		t.Error("a running server does not see the first key")
	}
	var made strings.Builder
	if err := (&keyAdd{dataFlag: data, Name: "bob"}).Run(&surroundings{out: &made, err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	bob := server.HashKey(strings.TrimSpace(made.String()))
	if !first.Allowed(bob) {
		t.Error("a running server does not see a new key")
	}
	for _, name := range []string{"bob", "ann"} {
		if err := (&keyRevoke{data, name}).Run(s); err != nil {
			t.Fatal(err)
		}
	}
	if first.Allowed(bob) {
		t.Error("a revoked key is allowed")
	}
	if _, demanded := at(); !demanded {
		t.Error("revoking the only key lets everybody in")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !first.Demanded() || first.Allowed(server.HashKey("tml-x")) {
		t.Error("a damaged file lets somebody in")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !first.Demanded() {
		t.Error("removing the file lets everybody in while the server runs")
	}
}

// A key is known by its tenant, and only one that was made for an operator may see the others.
func TestKeysHaveOwners(t *testing.T) {
	data := dataFlag{t.TempDir()}
	tenants := map[string]string{}
	for name, operator := range map[string]bool{"ann": false, "ops": true} {
		var out strings.Builder
		s := &surroundings{out: &out, err: io.Discard}
		if err := (&keyAdd{dataFlag: data, Name: name, Operator: operator}).Run(s); err != nil {
			t.Fatal(err)
		}
		tenants[name] = server.TenantOf(strings.TrimSpace(out.String()))
	}
	f, err := data.openKeys(false)
	if err != nil {
		t.Fatal(err)
	}
	// an old key has no tenant
	old, err := json.Marshal(append(f.List(), server.Key{Name: "old", Hash: server.HashKey("tml-old")}))
	if err == nil {
		err = os.WriteFile(filepath.Join(data.Data, "keys.json"), old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tenant, name string
		operator     bool
	}{{tenants["ann"], "ann", false}, {tenants["ops"], "ops", true}, {server.TenantOf("tml-old"), "", false},
		{"", "", false}} {
		if name, operator := f.Owner(c.tenant); name != c.name || operator != c.operator {
			t.Errorf("the tenant %q is %q, operator: %v; want %q, %v", c.tenant, name, operator, c.name, c.operator)
		}
	}
}

func TestLimitsAreChecked(t *testing.T) {
	good := serveStart{MinFree: 256, edgeFlags: edgeFlags{Connections: 8192, BodyStall: time.Second, MaxBody: 1,
		MaxBodies: 1}}
	if err := good.checkLimits(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*serveStart){
		"--min-free is -1":              func(c *serveStart) { c.MinFree = -1 },
		"--min-free is 17592186044416":  func(c *serveStart) { c.MinFree = 1 << 44 },
		"--connections is -1":           func(c *serveStart) { c.Connections = -1 },
		"--body-stall is 0s":            func(c *serveStart) { c.BodyStall = 0 },
		"--max-body is 0":               func(c *serveStart) { c.MaxBody = 0 },
		"--max-bodies is 0":             func(c *serveStart) { c.MaxBodies = 0 },
		"--max-tenant-bodies is -7":     func(c *serveStart) { c.MaxTenantBodies = -7 },
		"--threads is -1; it must be 0": func(c *serveStart) { c.Threads = -1 },
	} {
		c := good
		spoil(&c)
		if err := c.checkLimits(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if orNone(0) >= 0 || orNone(5) != 5 {
		t.Error("--min-free 0 is not none")
	}
	f := edgeFlags{Connections: 1 << 30}
	if c := f.connections(nil); c.PerAddress <= 0 || c.Total > 0 && c.PerAddress >= c.Total {
		t.Errorf("connections are %+v", c)
	}
}

// The names of a server are checked on loopback always, elsewhere only if there is a list of them.
func TestHostsAreChecked(t *testing.T) {
	for _, c := range []struct {
		addr, public string
		allow        []string
		want         string // "any", or the names
	}{
		{"127.0.0.1:8000", "", nil, "[127.0.0.1]"},
		{"localhost:8000", "https://Lab.example/x", []string{"Box.local."}, "[box.local localhost lab.example]"},
		{"[::1]:8000", "", nil, "[::1]"},
		{"0.0.0.0:8000", "https://lab.example", nil, "any"},
		{":8000", "", []string{"box"}, "[box]"},
		{"10.0.0.1:8000", "", []string{"box"}, "[box 10.0.0.1]"},
	} {
		s := serveStart{Addr: c.addr, PublicURL: c.public, edgeFlags: edgeFlags{AllowHost: c.allow}}
		got := "any"
		if hosts := s.hosts(); hosts != nil {
			got = fmt.Sprint(hosts)
		}
		if got != c.want {
			t.Errorf("--addr %s --public-url %s --allow-host %q: %s, want %s", c.addr, c.public, c.allow, got, c.want)
		}
	}
	for _, name := range []string{"", "http://box", "box:80", "a/b", "*.example", "a b", "u@box", "[::1]"} {
		if err := (edgeFlags{AllowHost: []string{name}}).checkNames(); err == nil {
			t.Errorf("--allow-host %q is accepted", name)
		}
	}
	for _, origin := range []string{"", "box", "http://", "http://box/", "http://box/x", "http://box?q",
		"https://u@box"} {
		if err := (edgeFlags{CORSOrigin: []string{origin}}).checkNames(); err == nil {
			t.Errorf("--cors-origin %q is accepted", origin)
		}
	}
	good := edgeFlags{AllowHost: []string{"box", "Lab.Example", "10.0.0.1", "::1"},
		CORSOrigin: []string{"*", "null", "http://box:3000", "https://lab.example", "vscode-webview://abc",
			"http://[::1]:5"}}
	if err := good.checkNames(); err != nil {
		t.Error(err)
	}
}
