package jobdir

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

const identityFile = "run.json"

// Identity is drawn at the first start of a job and kept in run.json.
type Identity struct {
	Seed     uint64    `json:"seed"`
	Date     time.Time `json:"date"` // what templates are told is now
	Session  string    `json:"session_id"`
	Numerics string    `json:"numerics"`          // its arithmetic, such as trinity-5-blocked; empty on a server
	Adapter  string    `json:"adapter,omitempty"` // model.lora_configs[0].path as it was then
	Trains   *Trained  `json:"trains,omitempty"`  // what it trains; older versions did not note it
	Follows  string    `json:"follows,omitempty"` // the version of Trinity-RFT whose rules it keeps; "" is 0.5.2
}

// follows is the version of Trinity-RFT that new jobs follow.
const follows = "0.6.0"

// Trained is the model that a job trains, as its configuration said at the first start.
type Trained struct {
	Model   string   `json:"model"`
	Rank    int      `json:"rank"` // 0 is all weights
	Alpha   float64  `json:"alpha,omitempty"`
	Modules []string `json:"modules,omitempty"`
}

func trainedBy(cfg *config.Config) *Trained {
	l := cfg.LoRA()
	return &Trained{Model: cfg.Model.BaseModel(), Rank: l.Rank, Alpha: l.Alpha, Modules: l.Modules}
}

// Draw is the identity of a new job. numerics names the arithmetic of the local engine; it is empty on a server.
func Draw(cfg *config.Config, numerics string, now time.Time) Identity {
	return Identity{Seed: chooseSeed(cfg), Date: now.Truncate(time.Second),
		Session:  "run-" + hex.EncodeToString(drawn(16)),
		Numerics: numerics, Adapter: cfg.StartAdapter(), Trains: trainedBy(cfg), Follows: follows}
}

// Identity reads run.json, or makes it of fresh: explorer and trainer in two processes get one identity.
func (d Dir) Identity(fresh Identity) (id Identity, err error) {
	path := d.File(identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if data, err = disk.Seal(fresh); err != nil {
			return id, err
		}
		if err := disk.WriteNew(d.FS, path, hex.EncodeToString(drawn(8)), data); err != nil {
			return id, err
		}
		data, err = os.ReadFile(path)
	} else if err == nil {
		err = d.FS.SyncDir(d.Path) // the process that made it may have been killed before it did
	}
	if err != nil {
		return id, fmt.Errorf("run: %w", err)
	}
	if err := errors.Join(disk.Unseal(data), json.Unmarshal(data, &id)); err != nil {
		return id, fmt.Errorf("run: %s cannot be read: %w; restore it, or use another name for a new job", path, err)
	}
	return id, nil
}

// Stream is the stream of random numbers that a job draws by a name.
func (id Identity) Stream(name string) rng.Stream { return rng.New(id.Seed).Stream(name) }

// Began is the date that templates are told: the date of the job's first start, or now.
func (d Dir) Began(now time.Time) time.Time {
	var id Identity
	if data, err := os.ReadFile(d.File(identityFile)); err == nil && json.Unmarshal(data, &id) == nil {
		return id.Date
	}
	return now.Truncate(time.Second)
}

// Follow has the configuration of a job keep the rules that the job was begun with.
func (d Dir) Follow(cfg *config.Config) {
	var id Identity
	data, err := os.ReadFile(d.File(identityFile))
	if err == nil && json.Unmarshal(data, &id) == nil && id.Follows == "" {
		config.Follow052(cfg)
	}
}

// Check refuses a configuration that does not continue the job in the folder dir. note, if any, tells a person what
// may differ. numerics is as for Draw; where names what the configuration computes with.
func (id Identity) Check(cfg *config.Config, dir, numerics, where string) (note string, err error) {
	if want := givenSeed(cfg); want != nil && uint64(*want) != id.Seed {
		return "", fmt.Errorf("run: job %s was begun with seed %d and the configuration now says %d; "+
			"set the old seed, or use another name for a new job", dir, int64(id.Seed), *want)
	}
	if was, is := id.Adapter, cfg.StartAdapter(); was != is {
		return "", fmt.Errorf("run: job %s was begun with model.lora_configs[0].path %q and the configuration now "+
			"says %q; set the old path, or use another name for a new job", dir, was, is)
	}
	if err := id.checkTrained(cfg, dir); err != nil {
		return "", err
	}
	switch was, is := id.Numerics, numerics; {
	case was == is, was != "" && strings.HasPrefix(is, was+"-"): // before v0.3 the order of sums was not named
		return "", nil
	case was == "":
		return "", fmt.Errorf("run: job %s was begun on a server, and the configuration now says the local engine; "+
			"set the old model.tinker.base_url, or use another name for a new job", dir)
	case is == "":
		return "", fmt.Errorf("run: job %s was begun on the local engine, and the configuration now says the %s; "+
			"set model.tinker.base_url: local, or use another name for a new job", dir, where)
	default:
		return fmt.Sprintf("the job was begun with numerics %s and continues with %s: the last bits can differ from "+
			"an unbroken run's", was, is), nil
	}
}

// checkTrained refuses to continue with another model or another adapter than the job has.
func (id Identity) checkTrained(cfg *config.Config, dir string) error {
	was, is := id.Trains, trainedBy(cfg)
	if was == nil || cfg.Mode == config.Bench {
		return nil
	}
	model, rank, alpha, modules := trainedKeys(cfg)
	for _, c := range []struct {
		key      string
		was, is  any
		adapters bool // only where there is one
	}{
		{model, was.Model, is.Model, false}, {rank, was.Rank, is.Rank, false},
		{alpha, was.Alpha, is.Alpha, true}, {modules, was.Modules, is.Modules, true},
	} {
		if !reflect.DeepEqual(c.was, c.is) && !(c.adapters && is.Rank == 0) {
			return fmt.Errorf("run: job %s was begun with %s %v and the configuration now says %v; "+
				"set the old value, or use another name for a new job", dir, c.key, c.was, c.is)
		}
	}
	return nil
}

// trainedKeys are the keys of the configuration that say what is trained.
func trainedKeys(cfg *config.Config) (model, rank, alpha, modules string) {
	model = "model.model_path"
	if cfg.Model.Tinker.Enable {
		if cfg.Model.Tinker.BaseModel != "" {
			model = "model.tinker.base_model"
		}
		return model, "model.tinker.rank", "the adapter's alpha",
			"model.tinker.train_attn, train_mlp and train_unembed, that is, with adapters on"
	}
	return model, "model.lora_configs[0].lora_rank", "model.lora_configs[0].lora_alpha",
		"model.lora_configs[0].target_modules (less exclude_modules)"
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
