package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
	"github.com/seed-d9ad8ee0/trinity/studio"
)

type studioCmd struct {
	Dirs      []string `arg:"" optional:"" name:"dir" help:"Folders of runs, or URLs of servers; else ./checkpoints."`
	Addr      string   `help:"Where to listen." default:"127.0.0.1:8265"`
	Token     string   `help:"What clients must send; made for addresses that are not local." placeholder:"TEXT"`
	AllowHost []string `help:"Names by which clients reach the studio, besides this machine's." placeholder:"NAME"`
	Webhook   string   `help:"An address that is told when a run ends, stalls or loses exactness." placeholder:"URL"`
	Report    string   `help:"Write the run that is named as one HTML file instead." placeholder:"FILE"`
	Threads   int      `help:"Threads of the engine that answers questions; 0 is all." default:"0"`
	Key       string   `help:"The key for Tinker servers; else TINKER_API_KEY." placeholder:"KEY"`
}

// Run implements the command.
func (c *studioCmd) Run(s *surroundings) error {
	ctx, cancel := s.untilStop()
	defer cancel()
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if c.Report != "" {
		return c.report(ctx, o)
	}
	engine := speaker.NewAsker(s.speaker(c.Threads))
	defer engine.Close()
	o.Ask = engine
	err = serveStudio(ctx, s, c.Addr, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// report writes one run as a file. A file that is there stays if that fails.
func (c *studioCmd) report(ctx context.Context, o studio.Options) error {
	if len(c.Dirs) != 1 {
		return usageError{errors.New("trinity: --report takes a file and one run: trinity studio --report FILE RUN")}
	}
	if _, err := os.Stat(c.Dirs[0]); err != nil { // a name
		o.Dirs = []string{"checkpoints"}
	}
	st := studio.New(o)
	if err := st.Look(ctx); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := st.Report(&page, c.Dirs[0]); err != nil {
		return err
	}
	return os.WriteFile(c.Report, page.Bytes(), 0o666)
}

// beside serves a studio while a run is under way. What goes wrong with it is told and does not end the run.
func beside(s *surroundings, addr string, dirs ...string) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	c := studioCmd{Addr: addr, Dirs: dirs}
	o, err := c.options(s)
	if err != nil {
		cancel()
		fmt.Fprintln(s.err, err)
		return func() {}
	}
	engine := speaker.NewAsker(s.speaker(1))
	o.Ask = engine
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serveStudio(ctx, s, addr, o); err != nil && ctx.Err() == nil {
			fmt.Fprintln(s.err, "note:", err)
		}
	}()
	return func() {
		cancel()
		<-done
		engine.Close()
	}
}

// options connects the studio to this process.
func (c *studioCmd) options(s *surroundings) (studio.Options, error) {
	o := studio.Options{Token: c.Token, Hosts: c.AllowHost, Webhook: c.Webhook, Key: c.Key, Version: version(),
		Model: s.cachedModel, Log: slog.New(foreign.Handler(slog.NewTextHandler(s.err,
			&slog.HandlerOptions{Level: slog.LevelWarn})))}
	if s.cacheDir != "" {
		o.Cache = filepath.Join(s.cacheDir, "trinity", "studio")
	}
	if key, ok := s.env("TINKER_API_KEY"); ok && o.Key == "" {
		o.Key = key
	}
	for _, dir := range c.Dirs {
		if strings.HasPrefix(dir, "http://") || strings.HasPrefix(dir, "https://") {
			o.URLs = append(o.URLs, dir)
		} else {
			o.Dirs = append(o.Dirs, dir)
		}
	}
	if len(c.Dirs) == 0 {
		o.Dirs = []string{"checkpoints"}
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return o, usageError{fmt.Errorf("trinity: --addr %s: %w; write host:port, such as 127.0.0.1:8265", c.Addr, err)}
	}
	return o, nil
}

// serveStudio serves a studio until ctx ends, and prints its address.
func serveStudio(ctx context.Context, s *surroundings, addr string, o studio.Options) error {
	l, err := listenTCP(addr)
	if err != nil {
		return fmt.Errorf("studio: %w; choose another address with --addr", err)
	}
	local, ok := l.Addr().(*net.TCPAddr)
	open := !ok || !local.IP.IsLoopback()
	if open && o.Token == "" {
		secret := make([]byte, 16)
		rand.Read(secret) // never fails
		o.Token = hex.EncodeToString(secret)
	}
	fmt.Fprintf(s.out, "studio   %s\n", studioURL(l.Addr(), o.Token))
	st := studio.New(o)
	e := web.Edge{Options: web.Options{ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn)},
		Connections: web.Connections{PerAddress: 256, Total: 1024, Log: o.Log}, End: time.Second}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return st.Run(ctx) })
	work.Go(func() error {
		if err := e.Serve(ctx, nil, l, st); err != nil {
			return fmt.Errorf("studio: %w", err)
		}
		return nil
	})
	return work.Wait()
}

// studioURL is the address to open.
func studioURL(at net.Addr, token string) string {
	address := "http://" + at.String() + "/"
	if token != "" {
		address += "?token=" + url.QueryEscape(token)
	}
	return address
}

// cachedModel is the folder of a job's model that is on this machine; nothing is downloaded.
func (s *surroundings) cachedModel(job, name string) (string, error) {
	notes, err := run.ReadJobNotes(job)
	if err != nil {
		return "", err
	}
	name = notes.Find(name)
	f := s.finder()
	f.Hub, f.Note = s.cachedHub(), func(string) {}
	m, err := f.Model(s.ctx, name)
	return m.Dir, err
}

// studioAddr is a flag with an address that may be left out: --studio or --studio=HOST:PORT.
type studioAddr string

// IsBool implements kong's BoolMapper: the flag needs no value.
func (studioAddr) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (a *studioAddr) Decode(ctx *kong.DecodeContext) error {
	*a = defaultStudio
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		token := ctx.Scan.Pop()
		text, ok := token.Value.(string)
		if !ok {
			return fmt.Errorf("expected an address, got %v", token.Value)
		}
		*a = studioAddr(text)
	}
	return nil
}

// defaultStudio is where a studio listens unless told otherwise.
const defaultStudio = "127.0.0.1:8265"
