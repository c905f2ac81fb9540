package run

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/algorithm"
	"github.com/seed-d9ad8ee0/trinity/buffer"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/explorer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/trainer"
)

// job is the parts of a run.
type job struct {
	Options
	cfg      *config.Config
	dir      string
	reckons  bool // an estimate: no server is asked, which could cost money
	identity identity
	backend  config.Backend
	method   *algorithm.Method
	steps    int  // train steps in all; 0 when only the data's end tells
	explored int  // explore steps in all; likewise
	gem      bool // of trinity gem, whose keys have other names
	lost     int  // train steps that are done again, as the server lost the model

	model        *baseModel
	teacher      teacher
	external     *external      // nil unless model.external_model is evaluated
	judge        *judge         // nil: no workflow asks one
	engine       *engine.Engine // nil on a server
	service      tinker.Service // the engine, made durable; or a server
	noted        []string       // what noteOnce has said
	republish    []int          // versions that the trainer publishes before it begins
	replaced     map[int]string // the paths that they had
	start        string         // path of the state that the adapter begins with; empty: a fresh one
	startSampler string         // the same to sample from
	store        *buffer.Store
	sync         *synchronizer.Synchronizer
	monitor      *monitor.Monitor
	outlet       outlet              // of the explorer
	source       *samples            // of the trainer, when it reads what an explorer puts
	table        *sqlFeed            // both, when they are a table
	order        *synchronizer.Order // nil where the order of events decides nothing
	folder       synchronizer.Folder
	status       synchronizer.TrainerStatus // last written
	failed       error                      // where an error could not be returned
	explorer     *explorer.Explorer
	evals        []explorer.Taskset
	tasks        *tasks // trained on
	trainer      *trainer.Trainer
	progress     *progress
	closers      []func() error // of what was opened, in order
}

// identity is what a job draws once, at its first start, and keeps: run.json.
type identity struct {
	Seed     uint64    `json:"seed"`
	Date     time.Time `json:"date"` // what templates are told is now
	Session  string    `json:"session_id"`
	Numerics string    `json:"numerics"`          // the arithmetic it was begun with; empty on a server
	Adapter  string    `json:"adapter,omitempty"` // model.lora_configs[0].path as it was then
}

// openIdentity reads run.json or makes it.
func (b *job) openIdentity() error {
	path := filepath.Join(b.dir, "run.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		b.identity = identity{Seed: chooseSeed(b.cfg), Date: b.Now().Truncate(time.Second), Session: "run-" + hex.EncodeToString(drawn(16)), Numerics: b.numerics(), Adapter: b.cfg.StartAdapter()}
		if data, err = disk.Seal(b.identity); err != nil {
			return err
		}
		if err := disk.WriteNew(b.FS, path, hex.EncodeToString(drawn(8)), data); err != nil {
			return err
		}
		data, err = os.ReadFile(path) // explorer and trainer in two processes draw one identity
	}
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := errors.Join(disk.Unseal(data), json.Unmarshal(data, &b.identity)); err != nil {
		return fmt.Errorf("run: %s cannot be read: %w; restore it, or use another name for a new job", path, err)
	}
	return b.checkIdentity()
}

func (b *job) checkIdentity() error {
	if want := givenSeed(b.cfg); want != nil && uint64(*want) != b.identity.Seed {
		return fmt.Errorf("run: job %s was begun with seed %d and the configuration now says %d; set the old seed, or use another name for a new job", b.dir, int64(b.identity.Seed), *want)
	}
	if was, is := b.identity.Adapter, b.cfg.StartAdapter(); was != is {
		return fmt.Errorf("run: job %s was begun with model.lora_configs[0].path %q and the configuration now says %q; set the old path, or use another name for a new job", b.dir, was, is)
	}
	was, is := b.identity.Numerics, b.numerics()
	switch {
	case was == is:
	case was == "":
		return fmt.Errorf("run: job %s was begun on a server, and the configuration now says the local engine; set the old model.tinker.base_url, or use another name for a new job", b.dir)
	case is == "":
		return fmt.Errorf("run: job %s was begun on the local engine, and the configuration now says the %s; set model.tinker.base_url: local, or use another name for a new job", b.dir, b.backend.Kind)
	default:
		fmt.Fprintf(b.Out, "note: the job was begun with numerics %s and goes on with %s: the last bits can differ from an unbroken run's\n", was, is)
	}
	return nil
}

// durable says that the service keeps models through a restart of this process.
func (b *job) durable() bool { return b.backend.Kind == config.Local && b.fleeting == nil }

// numerics names the arithmetic of the local engine; on a server it is the server's affair.
func (b *job) numerics() string {
	if b.backend.Kind == config.Local {
		return engine.Numerics
	}
	return ""
}

// givenSeed is the seed that the configuration names: seed, else model.tinker.seed.
func givenSeed(cfg *config.Config) *int64 {
	if cfg.Seed != nil {
		return cfg.Seed
	}
	return cfg.Model.Tinker.Seed
}

func chooseSeed(cfg *config.Config) uint64 {
	if s := givenSeed(cfg); s != nil {
		return uint64(*s)
	}
	return binary.LittleEndian.Uint64(drawn(8)) >> 1
}

func drawn(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// prefix begins the names of a job's checkpoints, as upstream's do.
func prefix(cfg *config.Config) string {
	var parts []string
	for _, p := range []string{cfg.Project, cfg.Group, cfg.Name} {
		if p = strings.Map(fileRune, p); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "-")
}

func fileRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+=@", r) {
		return r
	}
	return '_'
}

// hook lets b.FS, if it is a test's, end the run between the operations of packages that keep their own files.
func (b *job) hook() func(op, path string) error {
	if h, ok := b.FS.(interface{ Hook(op, path string) error }); ok {
		return h.Hook
	}
	return nil
}

// opened remembers how to close a part.
func (b *job) opened(close func() error) { b.closers = append(b.closers, close) }

// close closes the parts in the opposite order of their making.
func (b *job) close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	return errors.Join(errs...)
}

// build makes all parts. On an error what was opened is closed again.
func build(ctx context.Context, cfg *config.Config, backend config.Backend, o Options) (*job, error) {
	b := &job{Options: o, cfg: cfg, backend: backend, dir: cfg.JobDir()}
	parts := []func(context.Context) error{
		b.buildAlgorithm, b.beginStage, b.buildModel, b.buildDir, b.buildTeacher, b.buildJudge, b.buildService, b.buildBuffer, b.buildRecords, b.buildLoops,
	}
	if cfg.Model.ExternalModel.Enable {
		parts = []func(context.Context) error{b.buildAlgorithm, b.buildExternal, b.buildRecords, b.buildLoops}
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}
