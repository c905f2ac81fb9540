package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
)

// Dialer opens a worker's connections.
type Dialer interface {
	Dial(network, address string) (net.Conn, error)
}

const (
	dialPatience = 10 * time.Second
	reconnectMin = 250 * time.Millisecond
	reconnectMax = 5 * time.Second
	pingEvery    = 10 * time.Second
	pingsOut     = 2
	reconnectBuf = -1 // while there is no connection, publishing fails at once: the caller sends again
)

// connect opens a connection to NATS that reconnects for ever.
func connect(url string, c access.Credentials, name, inbox string, more ...nats.Option) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(name), nats.CustomInboxPrefix(inbox), nats.Timeout(dialPatience),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(reconnectBuf), nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsOut), nats.CustomReconnectDelay(reconnectDelay),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // its own prints
	}
	if c.JWT != "" {
		options = append(options, nats.UserJWTAndSeed(c.JWT, c.Seed))
	}
	if c.CA != nil {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(c.CA) {
			return nil, fmt.Errorf("fleet: the credentials' certificate is damaged")
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, ServerName: c.Place.ServerName,
			MinVersion: tls.VersionTLS12}))
	}
	nc, err := nats.Connect(url, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s: %w", url, err)
	}
	return nc, nil
}

// reconnectDelay waits longer after each attempt.
func reconnectDelay(attempts int) time.Duration {
	return min(reconnectMin<<min(attempts, 8), reconnectMax)
}
