package openenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// lost is the error of a socket that is no longer there. The episode may be played again on another one.
type lost struct{ cause error }

func (l *lost) Error() string { return "the session was lost: " + l.cause.Error() }

func (l *lost) Unwrap() error { return l.cause }

// hung is the error of an answer that did not come in time.
type hung struct {
	what  string
	after time.Duration
}

func (h *hung) Error() string {
	return fmt.Sprintf("the server did not answer the %s within %s; timeout=SECONDS in the id gives it more", h.what,
		h.after)
}

// socket is a WebSocket that is read all the time, so that pings are answered while a model thinks. It is for one
// goroutine; close may be called by any.
type socket struct {
	ws    *websocket.Conn
	in    chan []byte   // one message at a time
	gone  chan struct{} // closed when reading ended
	end   context.CancelFunc
	wait  sync.WaitGroup
	once  sync.Once
	mu    sync.Mutex
	cause error // why it ended
}

// dial opens a socket. limit is the largest message in bytes, ping the time between pings.
func dial(ctx context.Context, url string, timeout, ping time.Duration, limit int64) (*socket, error) {
	url = "ws" + strings.TrimPrefix(url, "http") + "/ws"
	dialing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ws, response, err := websocket.Dial(dialing, url, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: -1,
			DisableKeepAlives: true}},
	})
	switch {
	case response != nil && err != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("%s answers %s instead of opening a WebSocket; is it an OpenEnv server?", url,
			response.Status)
	case errors.Is(dialing.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s does not open a WebSocket within %s; connect_timeout=SECONDS in the id gives it "+
			"more", url, timeout)
	case err != nil:
		return nil, fmt.Errorf("cannot open %s: %w", url, err)
	}
	ws.SetReadLimit(limit)
	s := &socket{ws: ws, in: make(chan []byte, 1), gone: make(chan struct{})}
	reading, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	s.wait.Go(func() { s.read(reading, limit) })
	s.wait.Go(func() { s.ping(reading, ping) })
	return s, nil
}

// read reads until the socket ends.
func (s *socket) read(ctx context.Context, limit int64) {
	defer close(s.gone)
	limits := bound.Of(limit)
	for {
		kind, data, err := s.ws.Read(ctx)
		if errors.Is(err, websocket.ErrMessageTooBig) || websocket.CloseStatus(err) == websocket.StatusMessageTooBig {
			err = limits.TooLong()
		} else if err == nil {
			err = limits.Check(data)
		}
		var much *bound.Error
		switch {
		case errors.As(err, &much):
			s.fail(fmt.Errorf("the server sends %w; max_message=MIB in the id allows more", much))
			return
		case err != nil:
			s.fail(err)
			return
		case kind != websocket.MessageText:
			s.fail(garbage(data, "it is binary"))
			return
		}
		select {
		case s.in <- data:
		default:
			s.fail(garbage(data, "nobody asked for it"))
			return
		}
	}
}

// ping finds out that the other side is gone without having said so.
func (s *socket) ping(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, cancel := context.WithTimeout(ctx, every)
		err := s.ws.Ping(answer)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.fail(fmt.Errorf("no answer to a ping within %s: the connection is half open", every))
			return
		}
	}
}

// fail ends the socket. The first cause counts.
func (s *socket) fail(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	s.mu.Unlock()
	s.once.Do(func() {
		s.end()
		s.ws.CloseNow()
	})
}

// why is the error of a socket that ended.
func (s *socket) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var much *bound.Error
	if errors.Is(s.cause, errGarbage) || errors.As(s.cause, &much) {
		return s.cause
	}
	return &lost{s.cause}
}

// close ends the session politely and returns when nothing of the socket is left.
func (s *socket) close() {
	if data, err := message("close", nil); err == nil && s.alive() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		s.ws.Write(ctx, websocket.MessageText, data) // as good as it goes
		select {
		case <-s.gone: // the server closes
		case <-ctx.Done():
		}
		cancel()
	}
	s.fail(errors.New("it was closed"))
	s.wait.Wait()
}

func (s *socket) alive() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

// ask sends a message and waits for the answer. A message that came before it was asked for, such as a refusal of the
// session, is the answer too.
func (s *socket) ask(ctx context.Context, what string, data []byte, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	werr := s.ws.Write(ctx, websocket.MessageText, data)
	select {
	case answer := <-s.in:
		return answer, nil
	default:
	}
	if werr != nil && ctx.Err() == nil {
		s.fail(werr)
		<-s.gone
		select {
		case answer := <-s.in:
			return answer, nil
		default:
			return nil, s.why()
		}
	}
	select {
	case answer := <-s.in:
		return answer, nil
	case <-s.gone:
		select {
		case answer := <-s.in:
			return answer, nil
		default:
			return nil, s.why()
		}
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err := &hung{what, timeout}
			s.fail(err)
			return nil, err
		}
		s.fail(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}
