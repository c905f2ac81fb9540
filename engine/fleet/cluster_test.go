package fleet_test

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

var long = flag.Bool("fleet.long", false, "run the long tests of faults")

// ports returns free ports.
func ports(t *testing.T, n int) []int {
	t.Helper()
	var free []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		free = append(free, l.Addr().(*net.TCPAddr).Port)
	}
	return free
}

// outside starts a cluster of nats-servers.
func outside(t *testing.T, n int) (servers []*server.Server, urls string) {
	t.Helper()
	client, route := ports(t, n), ports(t, n)
	var routes []*url.URL
	for _, p := range route {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var all []string
	for i := range n {
		o := &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: client[i], NoSigs: true,
			NoLog: true, JetStream: true, StoreDir: t.TempDir()}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: route[i]}
			o.Routes = routes
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers, all = append(servers, s), append(all, fmt.Sprintf("nats://127.0.0.1:%d", client[i]))
	}
	for _, s := range servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server is not ready")
		}
	}
	eventually(t, "JetStream is there", func() bool {
		for _, s := range servers {
			if n > 1 && s.JetStreamIsLeader() || n == 1 && s.JetStreamEnabled() {
				return true
			}
		}
		return false
	})
	return servers, strings.Join(all, ",")
}

func TestAnOutsideServer(t *testing.T) {
	_, url := outside(t, 1)
	over := func(o *fleet.HeadOptions) { o.Listen, o.URL = "", url }
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "", over)
	join(t, h, "a", square)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	doAll(t, h, 0, 30)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := openHead(t, dir, "", over) // the server has stayed and the worker on it
	eventually(t, "the worker greets the new head", func() bool { return here(again) == 1 })
	doAll(t, again, 30, 60)
}

func TestThreeServers(t *testing.T) {
	if !*long {
		t.Skip("starts a cluster; make fleet-faults runs it")
	}
	servers, urls := outside(t, 3)
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Listen, o.URL, o.Replicas = "", urls, 3 })
	join(t, h, "a", slowly(10*time.Millisecond))
	join(t, h, "b", slowly(10*time.Millisecond))
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	during(t, h, 400, func() {
		time.Sleep(500 * time.Millisecond)
		servers[1].Shutdown()
	})
}
