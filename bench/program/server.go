package program

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Server is a `trinity serve` process, which can be killed and started again on the same port and data folder.
type Server struct {
	Program
	URL string // once it has started

	addr string
	args []string
	now  *Process   // nil while none runs
	all  []*Process // that were started
}

// Server prepares a server on a free port with its data below the home. args are further flags.
func (p Program) Server(args ...string) *Server {
	return &Server{Program: p, addr: "127.0.0.1:0", args: append([]string{"--data", filepath.Join(p.Home, "data")},
		args...)}
}

// Greeting matches what a server says when it serves; the group is its URL.
const Greeting = `(?s)export TINKER_BASE_URL=(\S+).*\ndata: [^\n]*\n`

// Start starts the server and returns when it has printed its greeting.
func (s *Server) Start() error {
	p, err := s.Begin()
	if err != nil {
		return err
	}
	greeting, err := p.Await(regexp.MustCompile(Greeting))
	if err != nil {
		return err
	}
	s.URL = greeting[1]
	s.addr = strings.TrimPrefix(s.URL, "http://")
	return nil
}

// Begin starts the server and does not wait for its greeting.
func (s *Server) Begin() (*Process, error) {
	p, err := Start(s.Command(append([]string{"serve", "--addr", s.addr}, s.args...)...))
	if err != nil {
		return nil, err
	}
	s.now, s.all = p, append(s.all, p)
	return p, nil
}

// Process is the running process.
func (s *Server) Process() *Process { return s.now }

// Kill ends the server as kill -9 does, without waiting for the system to clean up.
func (s *Server) Kill() {
	if s.now != nil {
		s.now.Kill()
		s.now = nil
	}
}

// Stop ends the server as Ctrl-C does.
func (s *Server) Stop() error {
	p := s.now
	s.now = nil
	p.Signal(os.Interrupt)
	if err := p.Wait(); err != nil {
		return fmt.Errorf("the server after Ctrl-C: %w\n%s", err, p.Said())
	}
	return nil
}

// Close kills the server and waits until the system has removed every process.
func (s *Server) Close() {
	s.Kill()
	for _, p := range s.all {
		p.Wait() // nearly all were killed
	}
}

// Said returns the output of all processes of the server.
func (s *Server) Said() string { return said(s.all) }

func said(all []*Process) string {
	var text strings.Builder
	for _, p := range all {
		text.WriteString(p.Said())
	}
	return text.String()
}
