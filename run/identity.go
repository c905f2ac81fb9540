package run

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// identity is what a job draws once, at its first start, and keeps: run.json.
type identity struct {
	Seed     uint64    `json:"seed"`
	Date     time.Time `json:"date"` // what templates are told is now
	Session  string    `json:"session_id"`
	Numerics string    `json:"numerics"`          // the arithmetic it was begun with; empty on a server
	Adapter  string    `json:"adapter,omitempty"` // model.lora_configs[0].path as it was then
	Trains   *trained  `json:"trains,omitempty"`  // what it trains; older versions did not note it
}

// trained is the model that a job trains, as its configuration said at the first start.
type trained struct {
	Model   string   `json:"model"`
	Rank    int      `json:"rank"` // 0 is all weights
	Alpha   float64  `json:"alpha,omitempty"`
	Modules []string `json:"modules,omitempty"`
}

func (b *job) trained() *trained {
	l := b.cfg.LoRA()
	return &trained{Model: b.cfg.Model.BaseModel(), Rank: l.Rank, Alpha: l.Alpha, Modules: l.Modules}
}

// openIdentity reads run.json or makes it.
func (b *job) openIdentity() error {
	path := filepath.Join(b.dir, "run.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		b.identity = identity{Seed: chooseSeed(b.cfg), Date: b.Now().Truncate(time.Second), Session: "run-" + hex.EncodeToString(drawn(16)), Numerics: b.numerics(),
			Adapter: b.cfg.StartAdapter(), Trains: b.trained()}
		if data, err = disk.Seal(b.identity); err != nil {
			return err
		}
		if err := disk.WriteNew(b.fs, path, hex.EncodeToString(drawn(8)), data); err != nil {
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
	if err := b.checkTrained(); err != nil {
		return err
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

// checkTrained refuses to go on with another model or another adapter than the job has.
func (b *job) checkTrained() error {
	was, is := b.identity.Trains, b.trained()
	if was == nil || b.cfg.Mode == config.Bench {
		return nil
	}
	model, rank, alpha, modules := b.trainedKeys()
	for _, c := range []struct {
		key      string
		was, is  any
		adapters bool // only where there is one
	}{
		{model, was.Model, is.Model, false}, {rank, was.Rank, is.Rank, false}, {alpha, was.Alpha, is.Alpha, true}, {modules, was.Modules, is.Modules, true},
	} {
		if !reflect.DeepEqual(c.was, c.is) && !(c.adapters && is.Rank == 0) {
			return fmt.Errorf("run: job %s was begun with %s %v and the configuration now says %v; set the old value, or use another name for a new job", b.dir, c.key, c.was, c.is)
		}
	}
	return nil
}

// trainedKeys are the keys of the configuration that say what is trained.
func (b *job) trainedKeys() (model, rank, alpha, modules string) {
	model = "model.model_path"
	if b.cfg.Model.Tinker.Enable {
		if b.cfg.Model.Tinker.BaseModel != "" {
			model = "model.tinker.base_model"
		}
		return model, "model.tinker.rank", "the adapter's alpha", "model.tinker.train_attn, train_mlp and train_unembed, that is, with adapters on"
	}
	return model, "model.lora_configs[0].lora_rank", "model.lora_configs[0].lora_alpha", "model.lora_configs[0].target_modules (less exclude_modules)"
}

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
