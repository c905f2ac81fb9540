package fleet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// as connects with credentials, without the package's own client.
func as(t *testing.T, url string, c access.Credentials, inbox string) (*nats.Conn, <-chan error) {
	t.Helper()
	violations := make(chan error, 100)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.CA)
	options := []nats.Option{nats.Secure(&tls.Config{RootCAs: roots, ServerName: access.ServerName}),
		nats.CustomInboxPrefix(inbox), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err })}
	if c.JWT != "" {
		options = append(options, nats.UserJWTAndSeed(c.JWT, c.Seed))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		violations <- err
		return nil, violations
	}
	t.Cleanup(nc.Close)
	return nc, violations
}

func TestConnectionsNeedTheFleetsCredentials(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	other, _ := newHead(t)
	own := read(t, h.Creds())
	foreign := read(t, other.Creds())
	foreign.CA = own.CA
	for name, c := range map[string]access.Credentials{"none": {CA: own.CA}, "foreign": foreign} {
		nc, violations := as(t, h.URL(), c, "_INBOX.x")
		if nc != nil {
			t.Errorf("%s credentials were accepted", name)
		} else if err := <-violations; !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s credentials: %v; want an authorization violation", name, err)
		}
	}
	mixed := access.Credentials{JWT: own.JWT, Seed: own.Seed, CA: foreignCA(t, other)}
	if nc, _ := as(t, h.URL(), mixed, "_INBOX.x"); nc != nil {
		t.Error("a server was trusted that another fleet's authority does not vouch for")
	}
	w := join(t, h, "foreign", square, func(o *fleet.JoinOptions) { o.Creds = other.Creds(); o.URL = h.URL() })
	eventually(t, "it ends, or waits for the head that its certificates are of", func() bool {
		return len(w.done) > 0 || strings.Contains(w.log.String(), "waiting for it")
	})
	if here(h)+here(other) > 0 {
		t.Error("a worker with another fleet's credentials is there")
	}
}

func foreignCA(t *testing.T, h *fleet.Head) []byte { return read(t, h.Creds()).CA }

func read(t *testing.T, path string) access.Credentials {
	t.Helper()
	c, err := access.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// worker's credentials, as the head would grant them.
func granted(t *testing.T, dir, creds string) (id string, c access.Credentials, n message.Names) {
	t.Helper()
	keys, err := access.Open(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	key, release, err := access.Identity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	id, _ = key.PublicKey()
	seed, _ := key.Seed()
	text, err := keys.UserJWT(id, "w", access.WorkerRights(keys.Names, id))
	if err != nil {
		t.Fatal(err)
	}
	return id, access.Credentials{JWT: text, Seed: string(seed), CA: read(t, creds).CA}, keys.Names
}

func TestAWorkerCanDoItsWorkAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	id, c, n := granted(t, dir, h.Creds())
	const other = "UOTHER"
	enrol := read(t, h.Creds())
	admin := read(t, filepath.Join(dir, "admin.creds"))
	for _, u := range []struct {
		name, inbox        string
		c                  access.Credentials
		publish, subscribe []string // that must be refused
	}{
		{"worker", n.Inbox(id), c, []string{
			n.Task(id), n.Task(other), n.Chunk(strings.Repeat("0", 64), 0), n.Result(other), n.Announce(other),
			n.Beat(other), n.Answer(other, "0", 0), n.Control(other), n.Pulse(), n.Enrol(id), n.Admin(), n.Inbox(other),
			"$JS.API.STREAM.DELETE." + n.Blobs(), "$JS.API.STREAM.INFO." + n.Answers(),
			"$JS.API.CONSUMER.CREATE." + n.Answers() + ".x", "$JS.API.CONSUMER.MSG.NEXT." + n.Answers() + "." + other,
			"$JS.API.DIRECT.GET." + n.Answers() + "." + n.Answer(other, "0", 0), "$JS.API.DIRECT.GET." + n.Blobs(),
			"$JS.ACK." + n.Answers() + "." + other + ".1.1.1.1.1", "trinity.another-job.result." + id,
			"$SYS.REQ.USER.INFO"},
			[]string{">", n.Task(other), n.Task("*"), n.Result("*"), n.Result(other), n.AnswersOf(other), n.AllChunks(),
				n.Control(other), n.Inbox(other) + ".>", "_INBOX.>", n.Beat("*"), "trinity.another-job.>", "$JS.>"}},
		{"enrol", n.Inbox("enrol") + ".x", enrol, []string{n.Task(id), n.Result(id), n.Announce(id), n.Admin(),
			"$JS.API.INFO"}, []string{">", n.Control(id), n.Task("*"), n.Inbox(id) + ".>"}},
		{"admin", n.Inbox("admin"), admin, []string{n.Task(id), n.Result(id), n.Enrol(id)}, []string{">", n.Task("*")}},
	} {
		t.Run(u.name, func(t *testing.T) {
			nc, violations := as(t, h.URL(), u.c, u.inbox)
			if nc == nil {
				t.Fatal(<-violations)
			}
			for _, subject := range u.publish {
				refused(t, nc, violations, "publish to "+subject, func() error { return nc.Publish(subject, nil) })
			}
			for _, subject := range u.subscribe {
				refused(t, nc, violations, "subscribe to "+subject, func() error {
					_, err := nc.SubscribeSync(subject)
					return err
				})
			}
		})
	}
	if s := h.Status(); s.Strays != 0 {
		t.Errorf("%d messages came through", s.Strays)
	}
}

// refused checks that the server reports a violation of permissions.
func refused(t *testing.T, nc *nats.Conn, violations <-chan error, what string, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	nc.Flush()
	select {
	case err := <-violations:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(patience):
		t.Errorf("%s is allowed", what)
	}
}

func TestForeignMalformedAndOversizeAnswersAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, j := openHead(t, dir, "127.0.0.1:0", func(o *fleet.HeadOptions) { o.MaxAnswer = 1 << 20 })
	release := make(chan struct{})
	join(t, h, "honest", func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return square(ctx, k, have)
	})
	eventually(t, "the honest worker", func() bool { return here(h) == 1 })
	done := make(chan fleet.Result)
	k := task(0)
	go func() {
		r, err := h.Do(t.Context(), k)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	eventually(t, "the task is given out", func() bool { return h.Status().Pending == 0 && h.Status().Open == 1 })
	id, c, n := granted(t, dir, h.Creds())
	nc, violations := as(t, h.URL(), c, n.Inbox(id))
	if nc == nil {
		t.Fatal(<-violations)
	}
	tell := func(subject string, v any, body []byte) {
		t.Helper()
		data, err := message.Encode(v, body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(subject, data, patience); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
	}
	about := fleet.About{Name: "rogue", Version: "v1", Slots: 1}
	tell(n.Announce(id), message.Announcement{About: about}, nil)
	head := headOf(t, nc, n)
	tell(n.Result(id), message.Result{Task: k.ID, Head: head}, []byte("foreign"))
	tell(n.Result(id), message.Result{Task: k.ID, Head: head, Payload: &fleet.Need{Hash: k.ID, Size: 1 << 40}}, nil)
	for subject, data := range map[string][]byte{n.Want(id): []byte("nonsense"), n.Announce(id): []byte("nonsense")} {
		nc.PublishRequest(subject, n.Inbox(id)+".x", data)
	}
	for _, data := range [][]byte{[]byte("\x05{\"a\""), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
		make([]byte, 900<<10), nil} {
		nc.PublishRequest(n.Result(id), n.Inbox(id)+".x", data)
	}
	eventually(t, "the rogue is removed", func() bool {
		for _, w := range h.Status().Workers {
			if w.About.Name == "rogue" {
				return w.State == "removed" && w.Bad >= 8
			}
		}
		return false
	})
	close(release)
	if r := <-done; string(r.Payload) != string(want(k)) || r.Worker == id {
		t.Errorf("the answer is %x from %s", r.Payload, r.Worker)
	}
	if !strings.Contains(j.String(), "which it was not given") {
		t.Error("the log does not tell of a foreign answer")
	}
}

func TestRevokedCredentialsAreRefusedByTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	id, c, n := granted(t, dir, h.Creds())
	nc, violations := as(t, h.URL(), c, n.Inbox(id))
	if nc == nil {
		t.Fatal(<-violations)
	}
	about := message.Announcement{About: fleet.About{Name: "w", Version: "v1", Slots: 1}}
	data, err := message.Encode(about, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request(n.Announce(id), data, patience); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove("w"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server ends the connection", nc.IsClosed)
	again, violations := as(t, h.URL(), c, n.Inbox(id))
	if again != nil {
		t.Fatal("revoked credentials are accepted")
	}
	for err := range violations {
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) {
			break
		}
	}
}

// headOf waits for the head's sign of life and returns its name.
func headOf(t *testing.T, nc *nats.Conn, n message.Names) string {
	t.Helper()
	s, err := nc.SubscribeSync(n.Pulse())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	var p message.Pulse
	if _, err := message.Decode(m.Data, &p); err != nil {
		t.Fatal(err)
	}
	return p.Head
}

func TestRemovedWorkersAndRotatedCredentials(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	a := join(t, h, "a", square)
	join(t, h, "b", square)
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	old := filepath.Join(t.TempDir(), "old.creds")
	data, err := os.ReadFile(h.Creds())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Ask(dir, "remove", "a"); err != nil {
		t.Fatal(err)
	}
	var gone *fleet.Refused
	if err := a.end(t); !asRefused(err, &gone) {
		t.Errorf("a removed worker ended with %v", err)
	}
	if _, err := fleet.Ask(dir, "rotate", ""); err != nil {
		t.Fatal(err)
	}
	c := join(t, h, "c", square, func(o *fleet.JoinOptions) { o.Creds = old })
	if err := c.end(t); !asRefused(err, &gone) {
		t.Errorf("a worker with the old credentials ended with %v", err)
	}
	join(t, h, "d", square)
	eventually(t, "b stays and d comes", func() bool { return here(h) == 2 })
	s, err := fleet.Ask(dir, "status", "")
	if err != nil || len(s.Workers) != 3 {
		t.Errorf("status: %v, %d workers; want a, b and d", err, len(s.Workers))
	}
	if _, err := fleet.Ask(dir, "remove", "nobody"); err == nil {
		t.Error("no error of removing a worker that is unknown")
	}
	doAll(t, h, 0, 20)
}
