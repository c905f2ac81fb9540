package main

import (
	"fmt"
	"log/slog"
	"math"
	"time"

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
	o.MaxBody, o.MaxBodies, o.MaxTenantBodies = f.MaxBody<<20, f.MaxBodies<<20, f.MaxTenantBodies<<20
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
	if n, ok := descriptors(); ok {
		c.Total = int(min(n, math.MaxInt32) / 4 * 3)
		if own := c.Total / 4 * 3; c.PerAddress > own {
			c.PerAddress = own
		}
	}
	return c
}
