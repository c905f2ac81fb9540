package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// evil is an MCP server of HTTP whose list of tools, and answer to another method, is what page returns; cursor is that
// of the request.
func evil(t *testing.T, stream bool, first string, page func(w io.Writer, cursor string)) string {
	t.Helper()
	h := func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion, Cursor string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": \"[[[\nevent: message\ndata: ")
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":`, request.ID)
		if request.Method == "tools/list" || request.Method == first {
			page(w, request.Params.Cursor)
		} else {
			fmt.Fprintf(w, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
				request.Params.ProtocolVersion)
		}
		fmt.Fprint(w, "}\n\n")
	}
	s := httptest.NewServer(http.HandlerFunc(h))
	t.Cleanup(s.Close)
	return s.URL
}

const evilTool = `{"name":"%s","inputSchema":{"type":"object"},"description":"%s"}`

// Lists of tools that are too long, or have too much in them, are refused before they are in memory.
func TestMCPListsAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, tt := range []struct {
		name, want string
		page       func(w io.Writer, cursor string)
	}{
		{"endless", "more than 16 MiB", func(w io.Writer, _ string) {
			fmt.Fprint(w, `{"tools":[{"name":"`)
			for err := error(nil); err == nil; {
				_, err = fmt.Fprint(w, strings.Repeat("a", 1<<16))
			}
		}},
		{"values", "more than 1048575 values", func(w io.Writer, _ string) {
			fmt.Fprint(w, `{"tools":[],"x":[`, strings.Repeat("\ndata: {},", 120000), `1]}`)
		}},
		{"deep", "more than 256 levels", func(w io.Writer, _ string) { fmt.Fprint(w, `{"tools":[],"x":`, deep, `}`) }},
		{"pages without end", "describes its tools in more than 4 MiB", func(w io.Writer, cursor string) {
			long := strings.Repeat("a", 1<<20)
			fmt.Fprintf(w, `{"tools":[`+evilTool+`],"nextCursor":"%sx"}`, "a"+cursor, long, cursor)
		}},
	} {
		for _, stream := range []bool{false, true} {
			if tt.name == "values" && !stream {
				page := tt.page
				tt.page = func(w io.Writer, cursor string) { page(plainWriter{w}, cursor) }
			}
			for _, first := range []string{"", "server/discover", "initialize"} {
				if first != "" && tt.name != "deep" { // the bounds are the same, whatever is answered
					continue
				}
				list, err := readServers(evil(t, stream, first, tt.page))
				if err != nil {
					t.Fatal(err)
				}
				s := serverOf(t, list[0], time.Minute)
				tools, err := s.list(t.Context())
				s.session.Close()
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s, stream %v, %s: %d tools, %v; want %q", tt.name, stream, first, len(tools), err,
						tt.want)
				}
			}
		}
	}
}

// plainWriter leaves out what only events have.
type plainWriter struct{ io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	_, err := w.Writer.Write([]byte(strings.ReplaceAll(string(p), "\ndata: ", "")))
	return len(p), err
}

// A server that is started is bounded too.
func TestMCPStartedServerIsBounded(t *testing.T) {
	t.Parallel()
	shell := filepath.Join(t.TempDir(), "server.sh")
	script := `while read -r line; do
	id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*notifications/*) continue ;;
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",' $id
		echo '"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}' ;;
	*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"x":[' $id
		yes '{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},' | head -n 10000 | tr -d '\n'
		echo '1]}}' ;;
	*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' $id ;;
	esac
done
`
	if err := os.WriteFile(shell, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, serverConfig{Name: "evil", Transport: "stdio", Command: "/bin/sh", Args: []string{shell}},
		time.Minute)
	if tools, err := s.list(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1048575 values") {
		t.Errorf("%d tools, %v", len(tools), err)
	}
}

// Only lines of data are counted, whatever stands around them and however they come.
func TestEventsAreCounted(t *testing.T) {
	heavy := strings.Repeat("{},", 600)
	for text, bad := range map[string]bool{
		"event: x\ndata: [" + heavy + "1]\n\n":                         true,
		": ]]]]\ndata: [" + heavy + "\n: ]]]]\ndata: 1]\n\n":           true,
		": \"\r\ndata: [" + heavy + "1]\r\n\r\n":                       true,
		": [" + heavy + "\nid: " + heavy + "\n\n":                      false,
		strings.Repeat("data: ["+heavy[:300]+"1]\n\n", 20):             false,
		strings.Repeat("data: x {\n\n", 5000):                          false,
		strings.Repeat("data: "+heavy[:300]+"\n", 20) + "\n":           true,
		strings.Repeat("datum: "+heavy+"\n", 20) + "data:\n\ndata\n\n": false,
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			limits := bound.Of(1 << 16)
			e := newEvents(limits)
			var err error
			for at := 0; at < len(text) && err == nil; at += step {
				err = e.feed([]byte(text[at:min(len(text), at+step)]))
			}
			if (err != nil) != bad {
				t.Errorf("%.30q in steps of %d: %v", text, step, err)
			}
		}
	}
}

// saying is the connection of a server that says one message.
type saying struct {
	mcp.Connection
	message jsonrpc.Message
}

func (s saying) Read(context.Context) (jsonrpc.Message, error) { return s.message, nil }

// What a server that was started asks is bounded as its answers are.
func TestMCPMessagesAreBounded(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 300) + strings.Repeat("]", 300))
	for _, m := range []jsonrpc.Message{&jsonrpc.Request{Method: "ping", Params: deep},
		&jsonrpc.Response{Result: deep}} {
		var much atomic.Pointer[bound.Error]
		got, err := countedConn{saying{message: m}, &much}.Read(t.Context())
		if got != nil || err == nil || much.Load() == nil || !strings.Contains(err.Error(), "more than 256 levels") {
			t.Errorf("%T: %v, %v; it is kept: %v", m, got, err, much.Load())
		}
	}
}
