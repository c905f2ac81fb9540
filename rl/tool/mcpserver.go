package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
	"github.com/seed-d9ad8ee0/trinity/internal/process"
)

// The time limits of an MCP server. The numbers are from GEM's MCPTool.
const (
	mcpTimeout = 30 * time.Second // of a call, and of the beginning of a session
	mcpEnd     = 2 * time.Second  // for a started server to end when its input does
)

// server is an MCP server with its session, which is begun when it is needed and again when it was lost.
type server struct {
	config  serverConfig
	lookup  func(string) (string, bool)
	guard   *process.Guard
	pause   time.Duration
	timeout time.Duration
	session process.Kept[*mcp.ClientSession]
	program atomic.Pointer[process.Process] // that was started last
	much    atomic.Pointer[bound.Error]     // of an answer that was beyond the limits, until it is told
}

func serverAt(c serverConfig, o Options, guard *process.Guard) *server {
	s := &server{config: c, lookup: o.LookupEnv, guard: guard, pause: o.Pause, timeout: mcpTimeout}
	s.session = process.Kept[*mcp.ClientSession]{Open: s.begin,
		Alive: func(*mcp.ClientSession) bool { return true }, // until do drops it
		Shut:  func(session *mcp.ClientSession) { session.Close() }}
	return s
}

// begin begins a session.
func (s *server) begin(ctx context.Context) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "trinity", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("no session: %w", err)
	}
	return session, nil
}

// transport connects to the server, which it starts if it has to.
func (s *server) transport() (mcp.Transport, error) {
	c := &s.config
	if c.Transport == "stdio" {
		p, err := s.guard.Start(process.Options{Command: append([]string{c.Command}, c.Args...), Dir: c.Cwd,
			Env: s.environment(), Alone: true, Piped: true})
		if err != nil {
			return nil, fmt.Errorf("the command %q cannot be started: %w", c.Command, err)
		}
		s.program.Store(p)
		return counted{&mcp.IOTransport{Reader: io.NopCloser(p.Out), Writer: stdio{p}}, &s.much}, nil
	}
	client := &http.Client{Transport: headers{c.Headers, boundedAnswers{http.DefaultTransport, &s.much}}}
	if c.Transport == "sse" {
		return sse{&mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: client}}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, DisableStandaloneSSE: true,
		MaxRetries: -1}, nil
}

// stdio is the input of a server that was started. Its end is the server's.
type stdio struct{ *process.Process }

// Write implements io.Writer.
func (s stdio) Write(data []byte) (int, error) { return s.In.Write(data) }

// Close implements io.Closer.
func (s stdio) Close() error {
	s.Leave(mcpEnd)
	return s.Out.Close()
}

// inherited are the variables that a started server gets, as MCP's SDKs have it, besides those that it is configured
// with. Keys of services are not among them.
var inherited = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "VIRTUAL_ENV",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"}

func (s *server) environment() []string {
	list := []string{}
	for _, name := range inherited {
		if s.lookup == nil {
			break
		}
		if value, ok := s.lookup(name); ok {
			list = append(list, name+"="+value)
		}
	}
	for name, value := range s.config.Env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list[min(len(list), len(list)-len(s.config.Env)):])
	return list
}

// do asks the server, in a new session if the one before was lost. It does not ask again after a timeout: the call may
// be under way.
func (s *server) do(ctx context.Context, ask func(context.Context, *mcp.ClientSession) error) error {
	var last error
	for attempt := range attempts {
		if attempt > 0 {
			if err := pause.For(ctx, s.pause); err != nil {
				return err
			}
		}
		session, err := s.session.Get(ctx)
		if err == nil {
			err = s.once(ctx, session, ask)
		}
		switch {
		case err == nil, answered(err) != nil:
			return err
		case errors.Is(err, process.ErrClosed):
			return errClosed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if session != nil {
			s.session.Drop(session)
		}
		if much := s.much.Swap(nil); much != nil {
			return fmt.Errorf("the MCP server %s sends %w", s.name(), much)
		}
		if last = err; errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the MCP server %s did not answer in %v: %w", s.name(), s.timeout, s.withTail(err))
		}
	}
	return fmt.Errorf("the MCP server %s does not answer (asked %d times): %w", s.name(), attempts, s.withTail(last))
}

// answered is the error that the server answered with, nil if err is none. The SDK uses the type for lost connections
// too, under codes of its own.
func answered(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code <= sdkCodes && e.Code >= sdkCodes-9 {
		return nil
	}
	return e
}

// sdkCodes is the first of the codes -32000 to -32009, which JSON-RPC leaves to implementations: the SDK has them for a
// server that is busy or closing, and for requests that did not reach one.
const sdkCodes = -32000

func (s *server) once(ctx context.Context, session *mcp.ClientSession,
	ask func(context.Context, *mcp.ClientSession) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := ask(ctx, session)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// name is how errors call the server.
func (s *server) name() string {
	if s.config.Transport == "stdio" {
		return fmt.Sprintf("%q (%s)", s.config.Name, strings.Join(append([]string{s.config.Command}, s.config.Args...),
			" "))
	}
	return fmt.Sprintf("%q (%s)", s.config.Name, s.config.URL)
}

// withTail adds the last lines of a server that was started.
func (s *server) withTail(err error) error {
	if p := s.program.Load(); p != nil {
		return p.WithTail(err)
	}
	return err
}

// headers adds headers to requests.
type headers struct {
	values map[string]string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(h.values) > 0 {
		r = r.Clone(r.Context())
		for name, value := range h.values {
			r.Header.Set(name, value)
		}
	}
	return h.next.RoundTrip(r)
}
