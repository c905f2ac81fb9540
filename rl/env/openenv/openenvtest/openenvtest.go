// Package openenvtest is an OpenEnv server for tests: the game of examples/openenv in Go. What it says is what the real
// server says, byte for byte; a test of package openenv compares it with a recording of that. On request it fails in
// the ways in which servers fail.
package openenvtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// Fate changes an answer.
type Fate int

const (
	Send   Fate = iota // it is sent
	Drop               // the connection is cut instead
	Hang               // nothing is sent, but pings are answered
	Freeze             // it is sent, and then nothing is read any more: the connection is half open
)

// Options say how a server behaves. The zero value behaves well.
type Options struct {
	Max      int    // sessions at a time; 0: 1,000
	Seedless bool   // seeds are ignored
	Stateful bool   // an episode depends on how many the session had before
	NoTasks  bool   // there is no task API (501)
	Schema   string // instead of the game's

	// Alter changes the answer to the message with a number, from 0, of the session with a number, from 0. nil changes
	// nothing. Calls may be concurrent.
	Alter func(session, message int, asked, answer string) (string, Fate)
}

// Server is a running server.
type Server struct {
	*httptest.Server
	o        Options
	ctx      context.Context
	end      context.CancelFunc
	wait     sync.WaitGroup
	mu       sync.Mutex
	open     int
	Opened   atomic.Int64 // sessions so far
	Refused  atomic.Int64 // sessions
	Messages atomic.Int64 // from all sessions
	Train    atomic.Int64 // tasks of the split train
}

// New makes a server that does not listen anywhere: a handler.
func New(o Options) *Server {
	s := &Server{o: o}
	s.o.Max = cmp.Or(s.o.Max, 1000)
	s.Train.Store(int64(len(splits["train"])))
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Start starts a server that ends with the test.
func Start(t testing.TB, o Options) *Server {
	s := New(o)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Stop)
	return s
}

// Stop cuts all connections and ends the server.
func (s *Server) Stop() {
	s.end()
	s.wait.Wait()
	s.Server.CloseClientConnections()
	s.Server.Close()
}

// ID is the id of the environment.
func (s *Server) ID(args string) string { return "openenv:" + s.URL + "?" + args }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ws" {
		s.session(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	code, answer := s.route(r.Method, r.URL.Path, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	io.WriteString(w, answer)
}

// route answers all but the WebSocket.
func (s *Server) route(method, path string, body []byte) (int, string) {
	switch method + " " + path {
	case "GET /health":
		return 200, `{"status":"healthy"}`
	case "GET /schema":
		if s.o.Schema != "" {
			return 200, s.o.Schema
		}
		return 200, schema
	case "GET /list_environments":
		return 200, `["threes"]`
	}
	name, route, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case route == "":
		return 404, `{"detail":"Not Found"}`
	case name != "threes":
		return 404, fmt.Sprintf(`{"detail":"unknown environment '%s'"}`, name)
	case s.o.NoTasks:
		return 501, `{"detail":"` + route + ` is not supported for this environment"}`
	}
	return s.tasks(method+" "+route, body)
}

// tasks answers the task API.
func (s *Server) tasks(route string, body []byte) (int, string) {
	var q struct {
		Split       string
		Index       int
		Start, Stop *int
	}
	json.Unmarshal(body, &q)
	examples := splits[q.Split]
	if q.Split == "train" {
		examples = examples[:s.Train.Load()]
	}
	task := func(i int) string {
		return fmt.Sprintf(`{"id":"%s-%d","index":%d,"example":%d}`, q.Split, i, i, examples[i])
	}
	switch route {
	case "GET splits":
		return 200, `[{"name":"train","type":"train"},{"name":"test","type":"test"}]`
	case "POST num_tasks":
		return 200, fmt.Sprintf(`{"num_tasks":%d}`, len(examples))
	case "POST task":
		if q.Index >= len(examples) {
			return 400, `{"detail":"Invalid task index"}`
		}
		return 200, `{"task":` + task(q.Index) + `}`
	case "POST task_range":
		var list []string
		for i := *q.Start; i < min(*q.Stop, len(examples)); i++ {
			list = append(list, task(i))
		}
		return 200, `{"tasks":[` + strings.Join(list, ",") + `]}`
	}
	return 404, `{"detail":"Not Found"}`
}

// session serves a WebSocket.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	s.wait.Add(1)
	defer s.wait.Done()
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(1 << 30)
	s.mu.Lock()
	if s.open >= s.o.Max {
		s.mu.Unlock()
		s.Refused.Add(1)
		full := `{"type":"error","data":{"message":"Server at capacity: %[1]d/%[1]d sessions active",` +
			`"code":"CAPACITY_REACHED","active_sessions":%[1]d,"max_sessions":%[1]d}}`
		c.Write(s.ctx, websocket.MessageText, fmt.Appendf(nil, full, s.o.Max))
		c.Close(websocket.StatusNormalClosure, "")
		return
	}
	s.open++
	s.mu.Unlock()
	number := int(s.Opened.Add(1)) - 1
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	s.serve(c, number)
}

// serve answers messages.
func (s *Server) serve(c *websocket.Conn, session int) {
	g := &game{server: s}
	for n := 0; ; n++ {
		_, asked, err := c.Read(s.ctx)
		if err != nil {
			return
		}
		s.Messages.Add(1)
		answer := g.answer(asked)
		if answer == "" {
			c.Close(websocket.StatusNormalClosure, "")
			return
		}
		fate := Send
		if s.o.Alter != nil {
			answer, fate = s.o.Alter(session, n, string(asked), answer)
		}
		switch fate {
		case Drop:
			return
		case Hang:
			c.Read(s.ctx)
			return
		}
		if c.Write(s.ctx, websocket.MessageText, []byte(answer)) != nil {
			return
		}
		if fate == Freeze {
			<-s.ctx.Done()
			return
		}
	}
}
