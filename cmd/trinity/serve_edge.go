package main

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// edgeFlags limit what strangers may use of a server.
type edgeFlags struct {
	Connections     int           `help:"Open connections per address (loopback is one); 0: no limit." default:"8192"`
	BodyStall       time.Duration `help:"Time limit for a stalled request body or answer." default:"30s"`
	MaxBody         int64         `help:"MiB of one training or sampling request, decompressed." default:"256"`
	MaxBodies       int64         `help:"MiB of memory for all requests being read." default:"1024"`
	MaxTenantBodies int64         `help:"The same for one key; 0: half of --max-bodies." default:"0"`
	AllowHost       []string      `help:"A further name under which clients call; repeatable." placeholder:"NAME"`
	CORSOrigin      []string      `help:"An origin whose web pages may call; repeatable." placeholder:"ORIGIN"`
}

// checkLimits refuses meaningless numbers.
func (c *serveStart) checkLimits() error {
	const most = math.MaxInt64 >> 20
	for _, f := range []struct {
		name        string
		value, from int64
	}{
		{"min-free", c.MinFree, 0}, {"connections", int64(c.Connections), 0}, {"max-body", c.MaxBody, 1},
		{"max-bodies", c.MaxBodies, 1}, {"max-tenant-bodies", c.MaxTenantBodies, 0}, {"threads", int64(c.Threads), 0},
	} {
		if f.value < f.from || f.value > most {
			return fmt.Errorf("serve: --%s is %d; it must be %d to %d", f.name, f.value, f.from, int64(most))
		}
	}
	if c.Idle < 0 {
		return fmt.Errorf("serve: --idle is %v; it must be positive, such as 5m, or 0 for never", c.Idle)
	}
	if c.BodyStall <= 0 {
		return fmt.Errorf("serve: --body-stall is %v; it must be positive, such as 30s", c.BodyStall)
	}
	return nil
}

// set gives the server its limits.
func (f edgeFlags) set(o *server.Options) {
	o.Bodies = server.Bodies{MaxBody: f.MaxBody << 20, MaxBodies: f.MaxBodies << 20,
		MaxTenantBodies: f.MaxTenantBodies << 20}
	o.Access.Origins = f.CORSOrigin
}

// hosts are the names under which clients reach the server, besides loopback's; nil is any name. On loopback,
// where callers may come without a key, the names are always checked. Elsewhere every call needs a key, which a page
// that was brought here under a name of its own does not have, so that the names are checked only if --allow-host lists
// them.
func (c *serveStart) hosts() []string {
	if !c.loopback() && len(c.AllowHost) == 0 {
		return nil
	}
	list := []string{}
	for _, name := range c.AllowHost {
		list = append(list, strings.ToLower(strings.TrimSuffix(name, ".")))
	}
	if host, _, err := net.SplitHostPort(c.Addr); err == nil && host != "" {
		list = append(list, strings.ToLower(host))
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		list = append(list, strings.ToLower(u.Hostname()))
	}
	return list
}

// checkNames refuses names that no Host or Origin header can have.
func (f edgeFlags) checkNames() error {
	for _, name := range f.AllowHost {
		_, notIP := netip.ParseAddr(name)
		if u, err := url.Parse("//" + name + "/"); notIP != nil && (err != nil || u.Host != name || u.Port() != "" ||
			name == "" || strings.ContainsAny(name, "*@[]")) {
			return fmt.Errorf("serve: --allow-host is %q; write one name or address without scheme and port, such as "+
				"models.example.org", name)
		}
	}
	for _, origin := range f.CORSOrigin {
		u, err := url.Parse(origin)
		if origin == "*" || origin == "null" {
			continue
		}
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("serve: --cors-origin is %q; write scheme://host[:port] as browsers send it, such as "+
				"https://chat.example.org, or null, or * for every page", origin)
		}
	}
	return nil
}

// orNone is for options in which zero means the default: it turns an explicit 0 into none.
func orNone(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// connections reserves a quarter of the process's file descriptors for files, and a quarter of the rest for other
// addresses.
func (f edgeFlags) connections(log *slog.Logger) web.Connections {
	c := web.Connections{PerAddress: f.Connections, Log: log}
	if n, ok := machine.Descriptors(); ok {
		c.Total = int(min(n, math.MaxInt32) / 4 * 3)
		if own := c.Total / 4 * 3; c.PerAddress > own {
			c.PerAddress = own
		}
	}
	return c
}
