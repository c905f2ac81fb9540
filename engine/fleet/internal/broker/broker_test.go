package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
)

// start starts a server for a fleet of its own.
func start(t *testing.T, listen string) (*Broker, *access.Keys, error) {
	t.Helper()
	dir := t.TempDir()
	keys, err := access.Open(dir, "job")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := access.MakeCertificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(Options{Dir: filepath.Join(dir, "nats"), Listen: listen, Keys: keys, Certificate: cert.TLS,
		MaxStore: 64 << 20})
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, keys, err
}

// dial connects as a user over TLS; nil is nobody.
func dial(t *testing.T, b *Broker, keys *access.Keys, user *access.Credentials) (*nats.Conn, error) {
	t.Helper()
	cert, err := access.MakeCertificate(filepath.Dir(b.o.Dir))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert.CA)
	options := []nats.Option{nats.NoReconnect(),
		nats.Secure(&tls.Config{RootCAs: roots, ServerName: access.ServerName})}
	if user != nil {
		options = append(options, nats.UserJWTAndSeed(user.JWT, user.Seed))
	}
	nc, err := nats.Connect(b.URL(""), options...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

func TestAServerIsForItsUsersAlone(t *testing.T) {
	b, keys, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, b, keys, nil); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := nats.Connect(strings.Replace(b.URL(""), "nats://", "ws://", 1)); err == nil {
		t.Error("a connection without TLS")
	}
	user, err := keys.NewUser("w", access.HeadRights())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := dial(t, b, keys, &user)
	if err != nil {
		t.Fatal(err)
	}
	if js, err := nc.JetStream(); err != nil {
		t.Error(err)
	} else if _, err := js.AccountInfo(); err != nil {
		t.Errorf("JetStream: %v", err)
	}
	if got := b.URL("head.example:1"); got != "nats://head.example:1" {
		t.Errorf("the advertised URL is %s", got)
	}
}

func TestRevokedUsersAreDisconnected(t *testing.T) {
	b, keys, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	join, err := keys.EnrolUser()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := dial(t, b, keys, &join)
	if err != nil {
		t.Fatal(err)
	}
	closed := nc.StatusChanged(nats.CLOSED)
	if err := keys.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := b.Renew(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("a revoked user is still connected")
	}
	if _, err := dial(t, b, keys, &join); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("with revoked credentials: %v", err)
	}
}

func TestARestartedServerHasItsAddress(t *testing.T) {
	b, keys, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	before := b.Addr().String()
	if err := b.Restart(true); err != nil {
		t.Fatal(err)
	}
	if after := b.Addr().String(); after != before {
		t.Errorf("it listens on %s and not on %s", after, before)
	}
	user, err := keys.NewUser("w", access.HeadRights())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, b, keys, &user); err != nil {
		t.Error(err)
	}
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	first, _, err := start(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for listen, want := range map[string]string{
		first.Addr().String(): "in use", "4222": "4222", "127.0.0.1:99999": "99999", "127.0.0.1:port": "port",
	} {
		if _, _, err := start(t, listen); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", listen, err, want)
		}
	}
}
