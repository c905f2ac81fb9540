package tool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// The patience with an MCP server. The numbers are those of GEM's MCPTool.
const (
	mcpTimeout = 30 * time.Second // of a call, and of the beginning of a session
	mcpEnd     = 2 * time.Second  // for a server that was started to end by itself
)

// server is an MCP server with its session, which is begun when it is needed and again when it was lost.
type server struct {
	config  serverConfig
	lookup  func(string) (string, bool)
	pause   time.Duration
	timeout time.Duration

	mu      sync.Mutex
	session *mcp.ClientSession
	said    *lastWords                  // stderr of a server that was started
	much    atomic.Pointer[bound.Error] // of an answer that was beyond the limits, until it is told
	closed  bool
}

// errClosed is returned by calls after the end.
var errClosed = errors.New("the tools are closed")

// begin returns the session.
func (s *server) begin(ctx context.Context) (*mcp.ClientSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.session != nil {
		return s.session, nil
	}
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
		return nil, fmt.Errorf("no session: %w%s", err, s.said)
	}
	s.session = session
	return session, nil
}

// transport is the way to the server.
func (s *server) transport() (mcp.Transport, error) {
	c := &s.config
	if c.Transport == "stdio" {
		path, err := exec.LookPath(c.Command)
		if err != nil {
			return nil, fmt.Errorf("the command %q cannot be started: %w", c.Command, err)
		}
		cmd := exec.Command(path, c.Args...)
		s.said = new(lastWords)
		cmd.Dir, cmd.Env, cmd.Stderr = c.Cwd, s.environment(), s.said
		endWithParent(cmd)
		return counted{&mcp.CommandTransport{Command: cmd, TerminateDuration: mcpEnd}, &s.much}, nil
	}
	client := &http.Client{Transport: headers{c.Headers, boundedAnswers{http.DefaultTransport, &s.much}}}
	if c.Transport == "sse" {
		return sse{&mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: client}}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, DisableStandaloneSSE: true,
		MaxRetries: -1}, nil
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

// lose forgets a session that does not work any more, unless another call did.
func (s *server) lose(session *mcp.ClientSession) {
	s.mu.Lock()
	mine := s.session == session && session != nil
	if mine {
		s.session = nil
	}
	s.mu.Unlock()
	if mine {
		_ = session.Close() // it is lost already
	}
}

// close ends the session, and with it a server that was started.
func (s *server) close() error {
	s.mu.Lock()
	session := s.session
	s.session, s.closed = nil, true
	s.mu.Unlock()
	if session != nil {
		_ = session.Close() // a server that is killed ends with an error, and one that is gone cannot be told
	}
	return nil
}

// do asks the server, in a new session if the one before was lost. It does not ask again after a timeout: the call may
// be under way.
func (s *server) do(ctx context.Context, ask func(context.Context, *mcp.ClientSession) error) error {
	var last error
	for attempt := range attempts {
		if attempt > 0 {
			select {
			case <-time.After(s.pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		session, err := s.begin(ctx)
		if err == nil {
			err = s.once(ctx, session, ask)
		}
		switch {
		case err == nil, answered(err) != nil, errors.Is(err, errClosed):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		s.lose(session)
		if much := s.much.Swap(nil); much != nil {
			return fmt.Errorf("the MCP server %s sends %w", s.name(), much)
		}
		if last = err; errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the MCP server %s did not answer in %v: %w%s", s.name(), s.timeout, err, s.words())
		}
	}
	return fmt.Errorf("the MCP server %s does not answer: %w (asked %d times)%s", s.name(), last, attempts, s.words())
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

func (s *server) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
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

// lastWords keeps the end of what a server writes to stderr.
type lastWords struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (w *lastWords) Write(p []byte) (int, error) {
	const most = 2000
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	if extra := len(w.kept) - most; extra > 0 {
		w.kept = slices.Delete(w.kept, 0, extra)
	}
	return len(p), nil
}

// String is the end of an error message; nil is an empty one.
func (w *lastWords) String() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == 0 {
		return ""
	}
	return "; it wrote: " + strings.TrimSpace(string(w.kept))
}
