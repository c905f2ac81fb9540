package tool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// newServer is an MCP server of the official SDK with tools that do well and badly. calls counts what it is asked.
func newServer(calls *atomic.Int32) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds two numbers"},
		func(_ context.Context, _ *mcp.CallToolRequest, p pair) (*mcp.CallToolResult, any, error) {
			calls.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(p.A + p.B)}}}, nil, nil
		})
	raw := func(name string, handle func(ctx context.Context) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls.Add(1)
				return handle(ctx)
			})
	}
	result := func(r mcp.CallToolResult) func(context.Context) (*mcp.CallToolResult, error) {
		return func(context.Context) (*mcp.CallToolResult, error) { return &r, nil }
	}
	raw("fails", result(mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"},
		&mcp.TextContent{Text: "try another"}}}))
	raw("blocks", result(mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "one"},
		&mcp.ImageContent{Data: []byte("12345"), MIMEType: "image/png"}, &mcp.TextContent{Text: "two"}}}))
	raw("silent", result(mcp.CallToolResult{Content: []mcp.Content{}}))
	raw("wrapped", result(mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "7.0"}},
		StructuredContent: map[string]any{"result": 7}}))
	raw("refuses", func(context.Context) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "a must be even"}
	})
	raw("breaks", func(context.Context) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the database is gone"}
	})
	raw("hangs", func(ctx context.Context) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Second):
		}
		return nil, ctx.Err()
	})
	raw("dies", func(context.Context) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(9)
		return nil, nil
	})
	return s
}

// serveStdio makes this test binary an MCP server.
func serveStdio() int {
	if os.Getenv("TEST_MCP_SILENT") == "" {
		fmt.Fprintln(os.Stderr, "the server begins")
	}
	var calls atomic.Int32
	if err := newServer(&calls).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// call writes a call as a model does.
func write(name, arguments string) string {
	return "I need a tool.\n<tool_call>\n<tool_name>" + name + "</tool_name>\n<arguments>" + arguments +
		"</arguments>\n</tool_call>"
}

// open opens servers that are asked again at once.
func open(t *testing.T, text string) *MCP {
	t.Helper()
	m, err := openMCP(t.Context(), text, Options{LookupEnv: os.LookupEnv, Pause: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.close() })
	return m
}

// serveHTTP serves newServer.
func serveHTTP(t *testing.T, calls *atomic.Int32) *httptest.Server {
	t.Helper()
	s := newServer(calls)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// answers are what calls give, over each transport.
var answers = []struct {
	name, arguments, want string
	failed                bool
}{
	{"add", `{"a": 1, "b": 2.5}`, "3.5", false},
	{"blocks", "", "one\nBinary data: 5 bytes\ntwo", false},
	{"silent", "{}", "Tool execution completed with no output", false},
	{"wrapped", "{}", "7", false},
	{"fails", "{}", "[Tool execution error: no such city try another]", true},
	{"refuses", "{}", "[Tool execution error: a must be even]", true},
	{"add", `[1, 2]`, "[Tool execution error: the arguments must be a JSON object]", true},
	{"sub", "{}", "Tool 'sub' not found. Available tools: add, blocks, breaks, dies, fails, hangs, refuses, silent, " +
		"wrapped", true},
}

func checkAnswers(t *testing.T, m *MCP, prefix string) {
	t.Helper()
	for _, a := range answers {
		if prefix != "" && a.name == "sub" {
			continue
		}
		use, err := m.Use(t.Context(), write(prefix+a.name, a.arguments))
		if err != nil || use.Text != a.want || use.Failed != a.failed || !use.Called ||
			!strings.HasPrefix(use.Action, "<tool_call>") {
			t.Errorf("%s %s: %+v, %v; want %q", a.name, a.arguments, use, err, a.want)
		}
	}
	use, err := m.Use(t.Context(), write(prefix+"add", `{"a": "x"}`))
	if err != nil || !use.Failed || !strings.HasPrefix(use.Text, "[Tool execution error: ") {
		t.Errorf("arguments beside the schema: %+v, %v", use, err)
	}
	if use, err := m.Use(t.Context(), "no call"); err != nil || use.Called {
		t.Errorf("no call: %+v, %v", use, err)
	}
}

// serverOf is a server that ends with the test.
func serverOf(t *testing.T, c serverConfig, timeout time.Duration) *server {
	guard := process.NewGuard()
	s := serverAt(c, Options{LookupEnv: os.LookupEnv, Pause: time.Second}, guard)
	s.timeout = timeout
	t.Cleanup(func() { s.session.Close(); guard.Close() })
	return s
}

// One call of the model is one call of the server, over HTTP.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	m := open(t, serveHTTP(t, &calls).URL)
	checkAnswers(t, m, "")
	if n := calls.Load(); n != 6 { // refused by the schema, the form or the name: not called
		t.Errorf("the server was called %d times, want 6", n)
	}
	for _, part := range []string{"<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"add\", " +
		"\"description\": \"adds two numbers\", \"parameters\": {",
		"\n{\"type\": \"function\", \"function\": {\"name\": \"blocks\""} {
		if !strings.Contains(m.Instruction(), part) {
			t.Errorf("the instruction lacks %q:\n%s", part, m.Instruction())
		}
	}
}

// The same over the standard streams of a child process, which ends with the tools.
func TestMCPOverStdio(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, program+" mcp-server")
	checkAnswers(t, m, "")
	_, err = m.Use(t.Context(), write("dies", ""))
	if err == nil || !strings.Contains(err.Error(), "does not answer") ||
		!strings.Contains(err.Error(), "out of luck") {
		t.Errorf("a server that dies in each call: %v, want its last words", err)
	}
	if use, err := m.Use(t.Context(), write("add", `{"a": 1, "b": 1}`)); err != nil || use.Text != "2" {
		t.Errorf("after the death of the server: %+v, %v; want a new one", use, err)
	}
	m.close()
	if err := exec.Command("pgrep", "-P", fmt.Sprint(os.Getpid())).Run(); err == nil {
		t.Error("a child process is left")
	}
	if _, err := m.Use(t.Context(), write("add", `{"a": 1, "b": 1}`)); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// Whatever the server is to blame for is an error, and never an observation.
func TestMCPFailures(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	h := serveHTTP(t, &calls)
	m := open(t, h.URL)
	fails := func(name, want string) {
		t.Helper()
		if use, err := m.Use(t.Context(), write(name, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error with %q", name, use, err, want)
		}
	}
	fails("breaks", "the database is gone")
	m.servers[0].timeout = 300 * time.Millisecond
	fails("hangs", "did not answer in 300ms")
	m.servers[0].timeout = mcpTimeout
	if use, err := m.Use(t.Context(), write("add", `{"a": 1, "b": 1}`)); err != nil || use.Text != "2" {
		t.Errorf("after a timeout: %+v, %v", use, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Use(ctx, write("add", `{"a": 1, "b": 1}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that nobody wants any more: %v", err)
	}
	h.CloseClientConnections()
	h.Close()
	_, err := m.Use(t.Context(), write("add", `{"a": 1, "b": 1}`))
	if err == nil || !strings.Contains(err.Error(), "(asked 3 times)") || !strings.Contains(err.Error(), h.URL) {
		t.Errorf("a server that is gone: %v", err)
	}
}

// Servers of a file have their names in front of their tools' names.
func TestMCPFile(t *testing.T) {
	var calls atomic.Int32
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	text := fmt.Sprintf(`{"mcpServers": {"web": {"type": "http", "url": %q, "headers": {"X-Key": "1"}},
		"local": {"command": %q, "args": ["mcp-server"], "env": {"TEST_MCP_SILENT": "1"}}}}`, serveHTTP(t, &calls).URL,
		program)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, path)
	checkAnswers(t, m, "web_")
	checkAnswers(t, m, "local_")
	if !strings.Contains(m.Instruction(), `"name": "web_add", "description": "[web] adds two numbers"`) ||
		!strings.Contains(m.Instruction(), `"description": "[local] Tool from local server"`) {
		t.Errorf("the instruction is\n%s", m.Instruction())
	}
}

func TestMCPConfigurations(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, text := range map[string]string{
		"no such file":           filepath.Join(dir, "nowhere.json"),
		"unexpected end":         file("broken.json", "{"),
		"names no server":        file("empty.json", `{"mcpServers": {}}`),
		`"a" has no command`:     file("command.json", `{"mcpServers": {"a": {"args": ["x"]}}}`),
		`has the url "ftp://x"`:  file("url.json", `{"url": "ftp://x"}`),
		`transport "pigeon"`:     file("pigeon.json", `{"transport": "pigeon"}`),
		`"./nowhere" cannot be`:  "./nowhere --flag",
		`(http://127.0.0.1:1/x)`: "http://127.0.0.1:1/x",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		m, err := openMCP(ctx, text, Options{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, m, err, want)
		}
	}
}

// The tools leave no goroutine and no connection.
func TestMCPLeavesNothing(t *testing.T) {
	var calls atomic.Int32
	s := newServer(&calls)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	events, file := serveSSE(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{h.URL, file, program + " mcp-server"} {
		b := NewBox(Options{LookupEnv: os.LookupEnv})
		w, err := b.Wrappers(t.Context(), env.ToolSpec{Tools: "mcp:" + text})
		if err != nil {
			t.Fatal(err)
		}
		e := w[env.AllTools](listener{})
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		if s, err := e.Step(write("add", `{"a": 1, "b": 1}`)); err != nil || s.Text != "2" || !s.Tool {
			t.Errorf("%+v, %v", s, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := b.Wrappers(t.Context(), env.ToolSpec{Tools: "mcp:" + text}); !errors.Is(err, errClosed) {
			t.Errorf("a closed box: %v", err)
		}
	}
	for ss := range s.Sessions() {
		ss.Close()
	}
	for _, l := range []*httptest.Server{h, events} {
		l.CloseClientConnections()
		l.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, goleak.IgnoreCurrent())
}
