package fake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// manifest is the one file of a checkpoint's folder, with the engine's name for its manifest.
const manifest = "trinity.json"

// saved is a checkpoint, and a snapshot.
type saved struct {
	BaseModel string
	LoRA      tinker.LoRA
	State     state
	Expires   time.Time
	// of a snapshot
	ID, Key string
	Applied int64
}

// folder is where the engine would have the checkpoint too.
func (s *Service) folder(p tinker.Path) string {
	id := strings.ReplaceAll(url.QueryEscape(p.ModelID), ".", "%2E")
	return filepath.Join(s.opts.Dir, id, string(p.Kind), p.Name)
}

// read reads a checkpoint of a kind, or of any if that is "".
func (s *Service) read(path string, kind tinker.Kind) (c saved, err error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return c, err
	}
	if kind != "" && p.Kind != kind {
		return c, tinker.Userf("fake: %s holds weights for sampling only", path)
	}
	data, err := os.ReadFile(filepath.Join(s.folder(p), manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return c, tinker.Userf("fake: checkpoint %s: %w", path, tinker.ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return c, tinker.Serverf("fake: checkpoint %s: %w", path, err)
	}
	if !c.Expires.IsZero() && !s.now().Before(c.Expires) {
		return c, tinker.Userf("fake: checkpoint %s expired: %w", path, tinker.ErrNotFound)
	}
	return c, nil
}

func (s *Service) now() time.Time {
	if s.opts.Now != nil {
		return s.opts.Now()
	}
	return time.Now()
}

// save writes a checkpoint, whole or not at all.
func (r *run) save(kind tinker.Kind, req tinker.SaveRequest) (out tinker.SaveOutput, err error) {
	if err := tinker.CheckName(req.Name); err != nil {
		return out, err
	}
	p := tinker.Path{ModelID: r.id, Kind: kind, Name: req.Name}
	// one of this request, now replayed, or of a later one is replaced
	if old, err := r.s.read(p.String(), ""); err == nil && !req.Overwrite && old.Applied < r.done {
		return out, tinker.Userf("fake: checkpoint %s: %w", p, tinker.ErrExists)
	}
	c := r.saved()
	if req.TTL > 0 {
		c.Expires = r.s.now().Add(req.TTL)
	}
	return tinker.SaveOutput{Path: p.String()}, r.s.write(p, c)
}

// write writes a checkpoint.
func (s *Service) write(p tinker.Path, c saved) error {
	folder := s.folder(p)
	data, err := json.Marshal(c)
	if err == nil {
		err = disk.MkdirAll(s.opts.FS, folder)
	}
	if err == nil {
		err = disk.WriteFile(s.opts.FS, filepath.Join(folder, manifest), data)
	}
	if err != nil {
		return tinker.Serverf("fake: checkpoint %s: %w", p, err)
	}
	return nil
}

// CopyCheckpoint saves a copy of a checkpoint under another path, without its time to live.
func (s *Service) CopyCheckpoint(from string, to tinker.Path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed()
	}
	c, err := s.read(from, "")
	if err != nil {
		return err
	}
	c.Expires = time.Time{}
	return s.write(to, c)
}

func (r *run) saved() saved {
	return saved{BaseModel: r.base.name, LoRA: r.lora, State: r.state, ID: r.id, Key: r.key, Applied: r.done}
}

// load replaces the state by a saved one's.
func (r *run) load(req tinker.LoadRequest) (out tinker.LoadOutput, err error) {
	c, err := r.s.read(req.Path, tinker.KindState)
	if err != nil {
		return out, err
	}
	if c.BaseModel != r.base.name {
		return out, tinker.Userf("fake: checkpoint %s is of base model %s", req.Path, c.BaseModel)
	}
	kind := r.state.Kind
	r.state = c.State
	r.state.clear()
	if !req.Optimizer {
		r.state.reset(kind)
	}
	return tinker.LoadOutput{Path: req.Path}, nil
}

// DeleteCheckpoint implements tinker.Service.
func (s *Service) DeleteCheckpoint(_ context.Context, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed()
	}
	if _, err := s.read(path, ""); err != nil {
		return err
	}
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	folder := s.folder(p)
	if err := s.opts.FS.Remove(filepath.Join(folder, manifest)); err != nil {
		return err
	}
	if err := s.opts.FS.RemoveAll(folder); err != nil {
		return err
	}
	return s.opts.FS.SyncDir(filepath.Dir(folder))
}

// Folder returns a checkpoint's folder.
func (s *Service) Folder(path string) (string, error) {
	if _, err := s.read(path, ""); err != nil {
		return "", err
	}
	p, err := tinker.ParsePath(path)
	return s.folder(p), err
}

// OpenModel returns the client of an existing model.
func (s *Service) OpenModel(_ context.Context, id string) (tinker.TrainingClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, tinker.Userf("fake: model %s: %w", id, tinker.ErrNotFound)
	}
	return r, nil
}

// Snapshot writes a model's state and returns the SeqID of the last request included.
func (s *Service) Snapshot(_ context.Context, id string, w io.Writer) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(id)
	if err != nil {
		return 0, err
	}
	if r == nil {
		return 0, tinker.Userf("fake: model %s: %w", id, tinker.ErrNotFound)
	}
	return r.done, json.NewEncoder(w).Encode(r.saved())
}

// Restore makes a model from a snapshot.
func (s *Service) Restore(_ context.Context, from io.Reader) (string, int64, error) {
	var c saved
	if err := json.NewDecoder(from).Decode(&c); err != nil {
		return "", 0, tinker.Serverf("fake: snapshot: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, err := s.find(c.ID); err != nil || r != nil {
		return "", 0, tinker.Serverf("fake: snapshot of model %s: it is here already, or gone: %w", c.ID, err)
	}
	b, err := s.base(c.BaseModel)
	if err != nil {
		return "", 0, err
	}
	r := newRun(s, c.ID, c.Key)
	r.base, r.lora, r.state, r.done = b, c.LoRA, c.State, c.Applied
	r.requests.Reserve(c.Applied)
	s.runs[c.ID] = r
	return c.ID, c.Applied, nil
}

// Evict removes a model from memory.
func (s *Service) Evict(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		r.abandon(tinker.Userf("fake: model %s was evicted: %w", id, tinker.ErrNotFound))
		delete(s.runs, id)
	}
	return nil
}

// NumericsID names the arithmetic.
func (s *Service) NumericsID() string { return "fake-1" }

// Checkpoint describes one checkpoint.
func (s *Service) Checkpoint(path string) (tinker.Checkpoint, error) {
	c, err := s.read(path, "")
	if err != nil {
		return tinker.Checkpoint{}, err
	}
	p, err := tinker.ParsePath(path)
	return tinker.Checkpoint{Path: p, SeqID: c.Applied + 1, BaseModel: c.BaseModel, LoRA: c.LoRA,
		Optimizer: p.Kind == tinker.KindState, OptimizerType: c.State.Kind}, err
}

// Checkpoints lists the checkpoints by path.
func (s *Service) Checkpoints(context.Context) (list []tinker.Checkpoint, err error) {
	files, err := filepath.Glob(filepath.Join(s.opts.Dir, "*", "*", "*", manifest))
	for _, f := range files {
		at := strings.Split(filepath.ToSlash(filepath.Dir(f)), "/")
		id, _ := url.QueryUnescape(at[len(at)-3])
		c, err := s.Checkpoint(tinker.Path{ModelID: id, Kind: tinker.Kind(at[len(at)-2]), Name: at[len(at)-1]}.String())
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, err
}
