package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

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
	route := ports(t, n)
	var routes []*url.URL
	for _, p := range route {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var all []string
	for i := range n {
		o := &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
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
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(patience) {
			t.Fatal("a server is not ready")
		}
		all = append(all, s.ClientURL())
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
	t.Parallel()
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

// A head that starts while the outside server is away waits for it.
func TestAnOutsideServerThatComesLater(t *testing.T) {
	t.Parallel()
	p := newProxy(t, "") // has the address before the server is there
	dir := t.TempDir()
	log := &journal{t: t}
	opened := make(chan error, 1)
	var h *fleet.Head
	go func() {
		var err error
		h, err = fleet.Open(t.Context(), fleet.HeadOptions{Dir: filepath.Join(dir, "fleet"), Job: "test", Version: "v1",
			URL: p.url(), Log: log.log})
		opened <- err
	}()
	eventually(t, "the head says that it waits", func() bool {
		return strings.Contains(log.String(), "waiting for it")
	})
	late := run(t, &server.Options{ServerName: "late", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir})
	p.set(func() { p.to = late.Addr().String() })
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	join(t, h, "a", square)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	doAll(t, h, 0, 10)
}

// A leaf node near the workers carries them to the server of the head.
func TestALeafNode(t *testing.T) {
	t.Parallel()
	through := map[string]string{"$G": ""} // default_js_domain: without it a leaf node does not carry JetStream's API
	o := &server.Options{ServerName: "hub", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		JsAccDefaultDomain: through, LeafNode: server.LeafNodeOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT}}
	hub := run(t, o)
	at := &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", o.LeafNode.Port)}
	leaf := run(t, &server.Options{ServerName: "leaf", Port: server.RANDOM_PORT, JsAccDefaultDomain: through,
		LeafNode: server.LeafNodeOpts{Remotes: []*server.RemoteLeafOpts{{URLs: []*url.URL{at}}}}})
	eventually(t, "the leaf is connected", func() bool { return leaf.NumLeafNodes() == 1 })
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Listen, o.URL = "", hub.ClientURL() })
	join(t, h, "a", square, func(o *fleet.JoinOptions) { o.URL = leaf.ClientURL() })
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	doAll(t, h, 0, 30)
	data := bytes.Repeat([]byte("payload of a large task"), 100_000)
	k := fleet.NewTask("square", data, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if r, err := h.Do(ctx, k); err != nil || !bytes.Equal(r.Payload, want(k)) {
		t.Errorf("a large task: %v", err)
	}
}

// run starts a server of this machine.
func run(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("a server is not ready")
	}
	return s
}

// A cluster whose operator gave the head a signing key of its account: workers get rights of their own.
func TestASigningKeyOfAnOutsideServer(t *testing.T) {
	t.Parallel()
	operator, operatorKey := pair(t, nkeys.CreateOperator)
	account, accountKey := pair(t, nkeys.CreateAccount)
	signer, signerKey := pair(t, nkeys.CreateAccount)
	_, systemKey := pair(t, nkeys.CreateAccount)
	user, userKey := pair(t, nkeys.CreateUser)
	o := jwt.NewOperatorClaims(operatorKey)
	a := jwt.NewAccountClaims(accountKey)
	a.SigningKeys.Add(signerKey)
	a.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	u := jwt.NewUserClaims(userKey)
	resolver := &server.MemAccResolver{}
	for key, claims := range map[string]jwt.Claims{accountKey: a, systemKey: jwt.NewAccountClaims(systemKey)} {
		if err := resolver.Store(key, sign(t, claims, operator)); err != nil {
			t.Fatal(err)
		}
	}
	trusted, err := jwt.DecodeOperatorClaims(sign(t, o, operator))
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, &server.Options{ServerName: "outside", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		TrustedOperators: []*jwt.OperatorClaims{trusted}, AccountResolver: resolver,
		SystemAccount: systemKey})
	dir := t.TempDir()
	head, seed := filepath.Join(dir, "head.creds"), filepath.Join(dir, "signer.nk")
	userSeed, _ := user.Seed()
	creds, err := jwt.FormatUserConfig(sign(t, u, account), userSeed)
	if err != nil {
		t.Fatal(err)
	}
	signerSeed, _ := signer.Seed()
	for path, data := range map[string][]byte{head: creds, seed: signerSeed} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fleetDir := filepath.Join(dir, "fleet")
	h, _ := openHead(t, fleetDir, "", func(o *fleet.HeadOptions) {
		o.Listen, o.URL, o.Creds, o.Signer = "", s.ClientURL(), head, seed
	})
	join(t, h, "a", square)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	doAll(t, h, 0, 20)
	if st, err := fleet.Ask(fleetDir, "status", ""); err != nil || st.Done != 20 {
		t.Errorf("status of an operator: %v, %d tasks done", err, st.Done)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.UserCredentials(h.Creds()), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Publish("trinity.any.task.x", nil)
	nc.Flush()
	if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("worker.creds may publish tasks: %v", err)
	}
}

func pair(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return k, public
}

func sign(t *testing.T, c jwt.Claims, key nkeys.KeyPair) string {
	t.Helper()
	text, err := c.Encode(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A cluster of three servers loses one while tasks are computed.
func TestThreeServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	t.Parallel()
	servers, urls := outside(t, 3)
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Listen, o.URL, o.Replicas = "", urls, 3 })
	join(t, h, "a", slowly(10*time.Millisecond))
	join(t, h, "b", slowly(10*time.Millisecond))
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	during(t, h, 400, func() {
		eventually(t, "an eighth of the tasks are done", func() bool { return h.Status().Done >= 50 })
		servers[1].Shutdown()
	})
}
