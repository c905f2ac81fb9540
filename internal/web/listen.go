package web

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Connections limits the number of open connections; 0 is no limit.
type Connections struct {
	PerAddress int // per address: an IPv4 address, a /64 of IPv6, or this machine (all of loopback)
	Total      int // of all addresses, so that files can still be opened
	Log        *slog.Logger
}

// Listen limits the connections of l: a connection beyond the limit is closed at once.
func Listen(l net.Listener, c Connections) net.Listener {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &listener{Listener: l, limit: c, open: map[string]int{}}
}

type listener struct {
	net.Listener
	limit Connections

	mu     sync.Mutex
	open   map[string]int // by address
	total  int
	warned time.Time
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := address(c.RemoteAddr())
		if l.enter(from) {
			return &conn{Conn: c, leave: sync.OnceFunc(func() { l.exit(from) })}, nil
		}
		c.Close() // an error of closing does not matter here
	}
}

// warnEvery limits how often refused connections are logged.
const warnEvery = 10 * time.Second

func (l *listener) enter(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.open[from]
	full := l.limit.Total > 0 && l.total >= l.limit.Total
	if !full && (l.limit.PerAddress <= 0 || own < l.limit.PerAddress) {
		l.open[from]++
		l.total++
		return true
	}
	if now := time.Now(); now.Sub(l.warned) >= warnEvery {
		l.warned = now
		l.limit.Log.Warn("a connection was refused: too many are open", "address", from, "open", own, "per_address",
			l.limit.PerAddress, "all", l.total, "total", l.limit.Total)
	}
	return false
}

func (l *listener) exit(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

// conn is removed from its listener's count when it closes.
type conn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// address is the key under which a client is counted: a client with one loopback address has all of them, and one with
// an IPv6 address has its /64.
func address(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return "loopback"
	}
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
