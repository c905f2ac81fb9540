package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/cmdline"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run/catalog"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// serveCmd is the Tinker API over HTTP, and its keys.
type serveCmd struct {
	Start serveStart `cmd:"" default:"withargs" help:"Serve the Tinker API."`
	Key   keyCmd     `cmd:"" help:"Manage the keys of clients on other machines."`
}

// dataFlag is where a server stores everything.
type dataFlag struct {
	Data string `help:"The folder where the server stores everything." default:"trinity-data" placeholder:"DIR"`
}

type serveStart struct {
	dataFlag
	Addr      string            `help:"Address; any other than loopback needs keys and TLS." default:"127.0.0.1:8000"`
	Models    []string          `help:"A folder of models, one model, or a GGUF file; repeatable." placeholder:"DIR"`
	Alias     map[string]string `help:"More names of base models." placeholder:"NAME=MODEL"`
	TLSCert   string            `help:"Certificate file." placeholder:"FILE"`
	TLSKey    string            `help:"The certificate's key file." placeholder:"FILE"`
	PublicURL string            `help:"The address that clients use, behind a proxy." placeholder:"URL"`
	Insecure  bool              `help:"Allow other machines without TLS; keys are sent in the clear."`
	MinFree   int64             `help:"MiB of disk to keep free by refusing new work; 0: none." default:"256"`
	edgeFlags
	fleetFlags
	Memory cmdline.Bytes `help:"Memory for runs, samplers, further models; default: half." placeholder:"BYTES"`
	Replay time.Duration `help:"Computing to repeat after a kill; less means more snapshots." default:"2m"`
	engineFlags
	BaseDtype     string        `help:"Base weights: bf16 (or as begun), int8, int4, auto." placeholder:"DTYPE"`
	SharePrefixes bool          `help:"Let keys reuse the computed beginnings of each other's prompts (timing tells)."`
	Verify        bool          `help:"Check the data folder and exit."`
	Repair        bool          `help:"With --verify: move unreadable records aside; list what is lost."`
	Idle          time.Duration `help:"Idle time after which a run or model leaves memory; 0: never." default:"5m"`
	Verbose       bool          `short:"v" help:"Log every request."`
}

// shutdownWait bounds how long active requests may take at shutdown. Waiting requests are released at once.
const shutdownWait = 5 * time.Second

// Run implements the command.
func (c *serveStart) Run(s *surroundings) error {
	if c.Repair && !c.Verify {
		return usageError{errors.New("serve: --repair needs --verify")}
	}
	if c.Verify {
		return c.verify(s)
	}
	if c.Replay <= 0 {
		return usageError{fmt.Errorf("serve: --replay is %v; it must be positive, such as 2m", c.Replay)}
	}
	if err := errors.Join(c.checkLimits(), c.checkNames(), c.checkExposure(), c.checkFleet()); err != nil {
		return usageError{err}
	}
	models, err := findModels(s, c.Models, c.Alias)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	unlock, err := lockFolder(s, c.Data)
	if err != nil {
		return err
	}
	defer unlock()
	listener, err := listenTCP(c.Addr)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer listener.Close()
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(foreign.Handler(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level})))
	c.Threads = spareProcessors(c.Threads)
	handler, closeAll, err := c.open(s.ctx, models, log)
	if err != nil {
		return err
	}
	if err := c.greet(s, listener.Addr(), models); err != nil {
		log.Warn("cannot write the greeting to standard output", "error", err)
	}
	log.Info("serving", "address", listener.Addr().String(), "data", c.Data, "pid", os.Getpid())
	err = c.listen(s, listener, handler, log)
	return errors.Join(err, closeAll())
}

// folders are those of models.
func folders(models map[string]engine.Model) (dirs []string) {
	for _, name := range slices.Sorted(maps.Keys(models)) {
		dirs = append(dirs, models[name].Dir)
	}
	return dirs
}

// open opens engine, journal and server, each on the one before. closeAll closes them in reverse order.
func (c *serveStart) open(ctx context.Context, models *catalog.Catalog, log *slog.Logger) (h *server.Server,
	closeAll func() error, err error) {
	dir := filepath.Join(c.Data, "checkpoints")
	base, err := engine.ChooseBaseDtype(c.BaseDtype, dir, machine.Memory(), folders(models.Models)...)
	if err != nil {
		return nil, nil, err
	}
	eo := engine.Options{Dir: dir, Models: models.Models,
		Threads: c.Threads, Order: c.Order, BaseDtype: base, SkipMissing: true, Memory: c.memory(), IdleAfter: c.Idle,
		SharePrefixes: c.SharePrefixes, Log: log}
	eo.Fit(machine.Memory())
	workers, err := c.openFleet(ctx, &eo, log)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil && workers != nil {
			err = errors.Join(err, workers.Close())
		}
	}()
	e, err := engine.Open(eo)
	if err != nil {
		return nil, nil, err
	}
	if workers != nil {
		workers.Bind(e)
	}
	var opened atomic.Pointer[server.Server]
	synced := func(took time.Duration) {
		if s := opened.Load(); s != nil {
			s.Fsynced(took)
		}
	}
	j, err := journal.Open(ctx, filepath.Join(c.Data, "journal"), e, journal.Options{KeepResults: 1024,
		IdleAfter: c.Idle, Warn: func(msg string) { log.Warn(msg) }, ReplayMax: c.Replay,
		SnapshotAfter: min(c.Replay, 30*time.Second), Synced: synced})
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	private, err := models.Private(c.Data)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	opts := server.Options{Dir: filepath.Join(c.Data, "server"), Store: e,
		Models: server.Models{Aliases: models.Aliases, Folders: models.Folders, Order: models.Order,
			HubNames: models.HubNames, Tokenizers: models.Tokenizers},
		Access: server.Access{Private: private, PublicURL: c.PublicURL, Hosts: c.hosts()},
		Queues: server.Queues{Free: func() (int64, error) { return machine.FreeBytes(c.Data) },
			MinFree: orNone(c.MinFree << 20)},
		Idle: c.Idle, Version: version(), Log: log}
	c.edgeFlags.set(&opts)
	keys, err := c.openKeys(!c.loopback())
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	opts.Access.Keys = keys
	h, err = server.Open(ctx, j, opts)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	opened.Store(h)
	return h, func() error {
		err := errors.Join(h.Close(), j.Close())
		if workers != nil {
			err = errors.Join(err, workers.Close())
		}
		return err
	}, nil
}

// spare is the number of Go processors beyond the computing threads.
const spare = 2

// spareProcessors lets requests be read and answered while all threads compute. It returns the number of computing
// threads: threads, or all processors. Without spare Go processors an arriving request waits until the runtime preempts
// a computing thread, 10 ms each time. With them the operating system decides, and it prefers a thread that just woke.
func spareProcessors(threads int) int {
	n := runtime.GOMAXPROCS(0)
	if threads <= 0 {
		threads = n
	}
	runtime.GOMAXPROCS(max(n, threads+spare))
	return threads
}

// memory is the budget for runs, samplers and base models beyond the largest in bytes; 0 means no budget, if the
// machine's memory is unknown.
func (c *serveStart) memory() int64 {
	if c.Memory > 0 {
		return int64(c.Memory)
	}
	return machine.Memory() / 2
}

// verify reads everything that is stored and reports damage.
func (c *serveStart) verify(s *surroundings) error {
	say := func(line string) { fmt.Fprintln(s.out, foreign.Text(line)) }
	if c.Repair {
		if err := c.repair(s, say); err != nil {
			return err
		}
	}
	errs := []error{journal.Verify(filepath.Join(c.Data, "journal"), say)}
	errs = append(errs, server.Verify(filepath.Join(c.Data, "server"), say))
	found, damaged, err := engine.VerifyCheckpoints(filepath.Join(c.Data, "checkpoints"))
	say(fmt.Sprintf("%s: %d checkpoints", filepath.Join(c.Data, "checkpoints"), found))
	errs = append(errs, damaged, err)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	say("no damage found")
	return nil
}

// repair moves damaged records of the logs aside.
func (c *serveStart) repair(s *surroundings, say func(string)) error {
	unlock, err := lockFolder(s, c.Data)
	if err != nil {
		return err
	}
	defer unlock()
	return errors.Join(journal.Repair(filepath.Join(c.Data, "journal"), disk.OS(), say),
		server.Repair(filepath.Join(c.Data, "server"), say))
}

// hubFolder is the cache of models downloaded from the hub.
func hubFolder(s *surroundings) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return hub.FromEnv(s.env, home).Cache
}
