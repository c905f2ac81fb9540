package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// keep writes the experiences of an explore step down beside what is trained on, once however often the step comes.
type keep func(ctx context.Context, step int, list []*experience.Experience) error

// fileSink keeps experiences as JSON lines, for people and other programs: they have no tokens, so nothing trains on
// them.
type fileSink struct {
	file  *buffer.JSONL
	fs    disk.FS
	path  string // of state
	state fileState
}

// fileState is what the last whole step left: the lines of a step cut short by a kill are cut off.
type fileState struct {
	Step  int   `json:"latest_iteration"`
	Bytes int64 `json:"bytes"`
}

func (b *job) openFileSink(path, state string) (*fileSink, error) {
	s := &fileSink{fs: b.fs, path: filepath.Join(b.dir, "buffer", b.cfg.Explorer.Name+"_"+state+".json")}
	if err := errors.Join(b.fs.MkdirAll(filepath.Dir(path)), b.fs.MkdirAll(filepath.Dir(s.path))); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	data, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = s.begin(path)
	case err == nil:
		err = errors.Join(disk.Unseal(data), json.Unmarshal(data, &s.state))
	}
	if err != nil {
		return nil, fmt.Errorf("run: %s: %w", s.path, err)
	}
	if s.file, err = buffer.OpenJSONL(b.fs, path, s.state.Bytes); err != nil {
		return nil, err
	}
	b.opened(s.file.Close)
	return s, nil
}

func (s *fileSink) put(_ context.Context, step int, list []*experience.Experience) error {
	if step <= s.state.Step {
		return nil
	}
	if err := s.file.WriteExperiences(list); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.state = fileState{step, s.file.Size()}
	return s.commit()
}

func (s *fileSink) explored() int                { return s.state.Step }
func (s *fileSink) finish(context.Context) error { return nil }

// begin goes on behind what a file has already: it is somebody else's.
func (s *fileSink) begin(path string) error {
	if st, err := os.Stat(path); err == nil {
		s.state.Bytes = st.Size()
	}
	return s.commit()
}

func (s *fileSink) commit() error {
	return disk.WriteJSON(s.fs, s.path, s.state)
}

// rawSink is where experiences are kept as they were sampled, before the pipeline drops or changes any:
// experience_pipeline.input_save_path.
func (b *job) rawSink(ctx context.Context) (keep, error) {
	p := b.cfg.DataProcessor.ExperiencePipeline
	if !p.SaveInput || p.InputSavePath == "" || b.cfg.Mode == config.Bench {
		return nil, nil
	}
	return b.openKeep(ctx, "data_processor.experience_pipeline.input_save_path", p.InputSavePath, "pipeline_input", "raw")
}

// copyOf is what upstream keeps of a queue: all that was put, in the file or the table that the buffer's path names.
// Without a path there is none; what is trained on is in rollouts/.
func (b *job) copyOf(ctx context.Context, eb *config.ExperienceBuffer) (keep, error) {
	const key = "buffer.trainer_input.experience_buffer.path"
	if !b.cfg.Given(key) || eb.Path == "" {
		return nil, nil
	}
	return b.openKeep(ctx, key, eb.Path, eb.Name, "copy")
}

// openKeep opens a file of JSON lines or, for the URL of a database, a table. state tells the notes of files apart.
func (b *job) openKeep(ctx context.Context, key, path, table, state string) (keep, error) {
	if strings.Contains(path, "://") {
		return b.openTableKeep(ctx, path, table)
	}
	ext := filepath.Ext(path)
	if ext != ".jsonl" && ext != ".json" {
		return nil, fmt.Errorf("run: %s %s: experiences are kept as JSON lines or in a database; name a .jsonl file or the URL of a database", key, path)
	}
	if b.aside() { // there may be other explorers
		path = strings.TrimSuffix(path, ext) + b.suffix() + ext
	}
	s, err := b.openFileSink(path, state)
	if err != nil {
		return nil, err
	}
	return s.put, nil
}

func (b *job) openTableKeep(ctx context.Context, url, table string) (keep, error) {
	if err := b.makeFolder(url); err != nil {
		return nil, err
	}
	s, err := buffer.OpenSQL(ctx, url, table, buffer.SQLOptions{Retries: 3, Pause: seconds(1), FS: b.fs})
	if err != nil {
		return nil, err
	}
	b.opened(s.Close)
	writer := b.identity.Session + b.suffix() // another job may keep its own in the same table
	return func(ctx context.Context, step int, list []*experience.Experience) error {
		return s.Put(ctx, writer, step, list)
	}, nil
}

// makeFolder makes the folder of an SQLite file.
func (b *job) makeFolder(url string) error {
	if path, ok := strings.CutPrefix(url, "sqlite:///"); ok {
		if err := b.fs.MkdirAll(filepath.Dir(path)); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	return nil
}
