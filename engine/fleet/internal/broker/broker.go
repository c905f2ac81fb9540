// Package broker runs a NATS server with JetStream inside the head's process. Its users are those whose credentials the
// fleet's account signed; there is no other way in.
package broker

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
)

const (
	startPatience = 20 * time.Second
	// maxPayload is the largest message of NATS that a worker may send. A worker's messages are below it by contract.
	maxPayload   = 1 << 20
	writePatient = 10 * time.Second
	pingEvery    = 10 * time.Second // a half-open connection ends after three
	pingsOut     = 2
)

// Options say where and for whom a server runs.
type Options struct {
	Dir         string // of JetStream's store
	Listen      string // host:port
	Keys        *access.Keys
	Certificate tls.Certificate
	MaxStore    int64  // bytes on disk
	Monitor     string // host:port of NATS's own monitoring; "": none
	Warn        func(format, line string)
}

// Broker is a running server.
type Broker struct {
	o        Options
	keys     *access.Keys
	resolver *server.MemAccResolver

	mu     sync.Mutex
	server *server.Server
}

// Start starts a server and waits until it is ready.
func Start(o Options) (*Broker, error) {
	b := &Broker{o: o, keys: o.Keys, resolver: &server.MemAccResolver{}}
	return b, b.start()
}

func (b *Broker) start() error {
	if err := free(b.o.Listen); err != nil {
		return err
	}
	opts, err := b.options(b.o)
	if err != nil {
		return err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("fleet: NATS server: %w", err)
	}
	s.SetLoggerV2(logger{b.o.Warn}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(startPatience) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return fmt.Errorf("fleet: the NATS server on %s did not start in %v; is %s writable?",
			b.o.Listen, startPatience, b.o.Dir)
	}
	b.mu.Lock()
	b.server = s
	b.mu.Unlock()
	return nil
}

// free reports an address that another program listens on. The server itself would wait for it.
func free(listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("fleet: cannot listen on %s: %w", listen, err)
	}
	return l.Close()
}

// running is the server of now.
func (b *Broker) running() *server.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// Restart stops the server and starts it on the address that it had. With clear its store is removed in between.
func (b *Broker) Restart(clear bool) error {
	b.o.Listen = b.Addr().String()
	b.Close()
	if clear {
		if err := os.RemoveAll(b.o.Dir); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	return b.start()
}

func (b *Broker) options(o Options) (*server.Options, error) {
	operator, err := o.Keys.OperatorClaims()
	if err != nil {
		return nil, err
	}
	account, err := o.Keys.AccountJWT()
	if err != nil {
		return nil, err
	}
	system, err := o.Keys.SystemJWT()
	if err != nil {
		return nil, err
	}
	err = errors.Join(b.resolver.Store(o.Keys.AccountKey(), account), b.resolver.Store(o.Keys.SystemKey(), system))
	if err != nil {
		return nil, fmt.Errorf("fleet: accounts: %w", err)
	}
	host, port, err := address(o.Listen)
	if err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName: "trinity-" + o.Keys.Names.Job, Host: host, Port: port, NoSigs: true,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxStore: o.MaxStore, JetStreamMaxMemory: 256 << 20,
		TrustedOperators: []*jwt.OperatorClaims{operator}, AccountResolver: b.resolver,
		SystemAccount: o.Keys.SystemKey(),
		MaxPayload:    maxPayload, WriteDeadline: writePatient, PingInterval: pingEvery, MaxPingsOut: pingsOut,
		TLS: true, TLSTimeout: 10, AuthTimeout: 20, DisableJetStreamBanner: true,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{o.Certificate}, MinVersion: tls.VersionTLS13},
	}
	if o.Monitor != "" {
		opts.HTTPHost, opts.HTTPPort, err = address(o.Monitor)
	}
	return opts, err
}

// address reads host:port; port 0 chooses one.
func address(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("fleet: address %q is not host:port, such as 0.0.0.0:4222", listen)
	}
	port = cmp.Or(port, server.RANDOM_PORT)
	return host, port, nil
}

// Addr is where clients connect.
func (b *Broker) Addr() net.Addr { return b.running().Addr() }

// URL is the address for clients; host replaces the address that the server listens on, if that is not "".
func (b *Broker) URL(host string) string {
	if host == "" {
		host = b.running().Addr().String()
	}
	return (&url.URL{Scheme: "nats", Host: host}).String()
}

// InProcessConn lets the head connect without a socket.
func (b *Broker) InProcessConn() (net.Conn, error) { return b.running().InProcessConn() }

// Renew makes the server read the account again: who was revoked is disconnected.
func (b *Broker) Renew() error {
	text, err := b.keys.AccountJWT()
	if err != nil {
		return err
	}
	if err := b.resolver.Store(b.keys.AccountKey(), text); err != nil {
		return fmt.Errorf("fleet: accounts: %w", err)
	}
	account, err := b.running().LookupAccount(b.keys.AccountKey())
	if err != nil {
		return fmt.Errorf("fleet: accounts: %w", err)
	}
	claims, err := jwt.DecodeAccountClaims(text)
	if err != nil {
		return fmt.Errorf("fleet: accounts: %w", err)
	}
	b.running().UpdateAccountClaims(account, claims)
	return nil
}

// Close stops the server.
func (b *Broker) Close() {
	s := b.running()
	s.Shutdown()
	s.WaitForShutdown()
}
