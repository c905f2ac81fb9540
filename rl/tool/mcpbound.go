package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// What an MCP server may send. All its tools are in the prompt of each task.
const (
	mcpMessage = 16<<20 - 1 // bytes of a message: below the SDK's own limit, whose errors do not reach a caller
	mcpTools   = 4 << 20    // bytes of the description of all tools
)

// counted is the transport of a server that was started. The SDK bounds the bytes of a message; its values
// are counted before it is decoded.
type counted struct {
	mcp.Transport
	much *atomic.Pointer[bound.Error]
}

// Connect implements mcp.Transport.
func (t counted) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countedConn{c, t.much}, nil
}

type countedConn struct {
	mcp.Connection
	much *atomic.Pointer[bound.Error]
}

// Read implements mcp.Connection.
func (c countedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	var inside json.RawMessage
	switch m := m.(type) {
	case *jsonrpc.Request:
		inside = m.Params
	case *jsonrpc.Response:
		inside = m.Result
	}
	if err := keep(c.much, bound.Of(mcpMessage).Check(inside)); err != nil {
		return nil, err
	}
	return m, nil
}

// keep keeps an excess, since the errors of the SDK do not lead to it.
func keep(much *atomic.Pointer[bound.Error], err error) error {
	var e *bound.Error
	if errors.As(err, &e) {
		much.Store(e)
	}
	return err
}

// boundedAnswers bounds the answers of a server that is reached over HTTP, which the SDK reads as long as they come.
type boundedAnswers struct {
	next http.RoundTripper
	much *atomic.Pointer[bound.Error]
}

// RoundTrip implements http.RoundTripper.
func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limits := bound.Of(mcpMessage)
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	stream := strings.HasPrefix(kind, "text/event-stream") || r.Method == http.MethodGet
	body := &bounded{ReadCloser: resp.Body, much: b.much, feed: (&whole{limits, limits.Bytes, limits.Scan()}).feed}
	if stream && resp.StatusCode/100 == 2 {
		body.feed = newEvents(limits).feed
	}
	resp.Body = body
	return resp, nil
}

// bounded is the body of an answer. After an excess nothing more is read.
type bounded struct {
	io.ReadCloser
	feed func(piece []byte) error
	much *atomic.Pointer[bound.Error]
	over error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	n, err := b.ReadCloser.Read(p)
	if b.over = keep(b.much, b.feed(p[:n])); b.over != nil {
		return 0, b.over
	}
	return n, err
}

// whole counts a body that is one message.
type whole struct {
	limits bound.Limits
	left   int64
	scan   *bound.Scan
}

func (w *whole) feed(p []byte) error {
	if w.left -= int64(len(p)); w.left < 0 {
		return w.limits.TooLong()
	}
	return w.scan.Feed(p)
}

// events counts a stream of server-sent events, whose lines "data: …" have messages.
type events struct {
	limits bound.Limits
	left   int64 // bytes of the current event
	scan   *bound.Scan
	column int  // of the current line
	data   bool // the line began as one of data does
}

func newEvents(limits bound.Limits) *events {
	return &events{limits: limits, left: limits.Bytes, scan: limits.Scan(), data: true}
}

func (e *events) feed(p []byte) error {
	const key = "data:"
	for len(p) > 0 {
		if e.column < len(key) && p[0] != '\n' {
			if p[0] != '\r' || e.column > 0 {
				e.data = e.data && p[0] == key[e.column]
				e.column++
			}
			p, e.left = p[1:], e.left-1
			continue
		}
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if e.left -= int64(len(p) - len(rest)); e.left < 0 {
			return e.limits.TooLong()
		}
		if e.data && e.column > 0 {
			if err := e.scan.Feed(line); err != nil {
				return err
			}
		}
		p = rest
		if !whole {
			return nil
		}
		if e.column == 0 { // an empty line ends an event
			e.left, e.scan = e.limits.Bytes, e.limits.Scan()
		}
		e.column, e.data = 0, true
	}
	return nil
}
