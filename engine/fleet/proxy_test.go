package fleet_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy is a TCP proxy that makes a network worse: it delays, limits the rate, cuts connections, refuses new ones, or
// swallows what it gets without a word (half-open).
type proxy struct {
	l net.Listener

	mu     sync.Mutex
	to     string // "": connections end at once
	delay  time.Duration
	rate   int // bytes per second; 0: no limit
	silent bool
	closed bool
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.set(func() { p.closed = true })
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.l.Addr().String() }

func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) accept() {
	for {
		from, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		address := p.to
		p.mu.Unlock()
		to, err := net.Dial("tcp", address)
		if err != nil {
			from.Close()
			continue
		}
		p.mu.Lock()
		if p.closed {
			from.Close()
			to.Close()
			p.mu.Unlock()
			return
		}
		p.conns[from], p.conns[to] = true, true
		p.mu.Unlock()
		p.wg.Go(func() { p.pump(from, to) })
		p.wg.Go(func() { p.pump(to, from) })
	}
}

// packet is bytes and when they may arrive.
type packet struct {
	data []byte
	at   time.Time
}

// pump carries one direction; reading goes on while packets are on their way.
func (p *proxy) pump(from, to net.Conn) {
	way := make(chan packet, 1024)
	p.wg.Go(func() {
		defer to.Close()
		for k := range way {
			time.Sleep(time.Until(k.at))
			if _, err := to.Write(k.data); err != nil {
				io.Copy(io.Discard, from)
			}
		}
	})
	defer close(way)
	defer from.Close()
	for {
		buf := make([]byte, 16<<10)
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, rate, silent := p.delay, p.rate, p.silent
		p.mu.Unlock()
		if rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
		if !silent {
			way <- packet{buf[:n], time.Now().Add(delay)}
		}
	}
}
