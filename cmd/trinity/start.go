package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/connect"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

type startCmd struct {
	Program  string   `arg:"" help:"claude, codex, opencode or aider."`
	Words    []string `arg:"" optional:"" help:"Words for the program, behind --."`
	Model    string   `help:"A model's folder, GGUF file or name; a job, checkpoint or adapter." placeholder:"MODEL"`
	Base     string   `name:"base-model-dir" short:"b" help:"The base model, if it moved." placeholder:"DIR"`
	Template string   `name:"chat-template" help:"A file with a chat template to use." placeholder:"FILE"`
	URL      string   `help:"Use a server that runs; --model is its name of the model." placeholder:"URL"`
	Print    bool     `help:"Only print the settings for a server that runs."`
	Write    bool     `help:"Only write them into a new file of the program."`
	Threads  int      `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command: a program talks to a model here until it ends.
func (c *startCmd) Run(s *surroundings) error {
	p, err := connect.Find(c.Program)
	if err != nil {
		return usageError{err}
	}
	if c.Print || c.Write {
		return c.settings(s, p)
	}
	binary, err := p.Path()
	if err != nil {
		return err
	}
	if c.URL != "" {
		t, err := c.ask(s, p)
		if err != nil {
			return err
		}
		return c.run(s, p, t, binary)
	}
	if c.Model == "" {
		return usageError{errors.New("start: name the model with --model, or a server that runs with --url")}
	}
	return c.serve(s, p, binary)
}

// ask finds the model on the server that runs.
func (c *startCmd) ask(s *surroundings, p connect.Program) (connect.Target, error) {
	if c.Base != "" || c.Template != "" {
		return connect.Target{}, usageError{errors.New("start: --base-model-dir and --chat-template are of a model " +
			"that trinity start opens; a server that runs has its own")}
	}
	ctx, done := s.untilStop()
	defer done()
	key, _ := s.env("TINKER_API_KEY")
	t, err := connect.Ask(ctx, cmp.Or(c.URL, "http://127.0.0.1:8000"), cmp.Or(key, "tml-local"), c.Model)
	if err != nil {
		return t, err
	}
	return t, p.Check(t)
}

// settings prints or writes the settings for a server that runs.
func (c *startCmd) settings(s *surroundings, p connect.Program) error {
	if len(c.Words) > 0 {
		return usageError{fmt.Errorf("start: --print and --write start nothing; leave out %q", c.Words[0])}
	}
	t, err := c.ask(s, p)
	if err != nil {
		return err
	}
	set := p.Settings(t, inHome)
	if c.Print {
		set.Show(s.out)
		set.ShowFile(s.out)
	}
	if !c.Write {
		return nil
	}
	if err := set.Write(); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "wrote %s; now start: %s\n", set.File, set.Then)
	return nil
}

// inHome is the path of a file of the user.
func inHome(elements ...string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(append([]string{home}, elements...)...)
}

// serve opens the model and serves it on a free port while the program runs. It writes only a temporary folder of
// links.
func (c *startCmd) serve(s *surroundings, p connect.Program, binary string) (err error) {
	dir, err := os.MkdirTemp("", "trinity-start-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := c.open(s, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Speaker.Engine.Close()) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	t := server.Target(l.Addr())
	if err := p.Check(t); err != nil {
		return errors.Join(err, l.Close())
	}
	stop, served := make(chan struct{}), make(chan error, 1)
	go func() { served <- server.Serve(s.ctx, stop, l) }()
	err = c.run(s, p, t, binary)
	close(stop)
	return errors.Join(err, <-served)
}

// open opens the model. Ctrl-C ends it.
func (c *startCmd) open(s *surroundings, dir string) (*connect.Server, error) {
	ctx, done := s.untilStop()
	defer done()
	opening := *s
	opening.ctx = ctx
	o := opening.speaker(spareProcessors(c.Threads))
	o.Model, o.Base, o.Template = c.Model, c.Base, c.Template
	sp, _, err := opening.speak(o, dir)
	if err != nil {
		return nil, err
	}
	server, err := connect.NewServer(ctx, modelID(c.Model), sp)
	if err != nil {
		return nil, errors.Join(err, sp.Engine.Close())
	}
	return server, nil
}

// modelID is a short name of a model, for programs whose names of models have slashes and for people.
func modelID(name string) string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(filepath.Clean(name))), ".gguf")
}

// run shows the settings and runs the program, which gets the terminal and its Ctrl-C.
func (c *startCmd) run(s *surroundings, p connect.Program, t connect.Target, binary string) error {
	set := p.Settings(t, inHome)
	fmt.Fprintf(s.err, "%s uses %s, with a context of %d tokens, at %s; its settings, for this run only:\n\n", p.Title,
		foreign.Plain(t.Model), t.Context, t.URL)
	set.Show(s.err)
	fmt.Fprintln(s.err, p.Note(t))
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // Ctrl-C reaches the program by itself
	defer signal.Stop(signals)
	cmd := set.Command(binary, c.Words)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("start: %s: %w", p.Name, err)
			}
			return nil
		case sig := <-signals:
			if sig == syscall.SIGTERM {
				cmd.Process.Signal(sig) // one that has ended needs none
			}
		}
	}
}
