package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// servers are the environments on OpenEnv servers that a command plays. A nil one has none.
type servers struct {
	source *openenv.Source
	log    *pythonLog
	out    io.Writer

	mu     sync.Mutex
	record io.WriteCloser // rollouts/openenv.jsonl of the job; nil: nothing is recorded yet
}

// withServers makes what finds environments on OpenEnv servers, if one of ids is there.
func (o Options) withServers(ctx context.Context, ids ...string) Options {
	if o.servers != nil || !slices.ContainsFunc(ids, openenv.Is) {
		return o
	}
	s := &servers{log: &pythonLog{}, out: o.Out}
	s.source = openenv.New(context.WithoutCancel(ctx), openenv.Options{
		Python: o.Python.Executable, Find: o.Find, LookupEnv: o.LookupEnv, Record: s.write,
		Note:   func(text string) { fmt.Fprintln(o.Out, "note:", foreign.Text(text)) },
		Output: func(line string) { s.log.add(python.Entry{Text: line}) },
		Failed: func(err error) {
			s.log.add(python.Entry{Level: "error", Text: "an episode failed: " + err.Error()})
		}})
	o.servers = s
	return o
}

// playedIDs are the ids of the environments that the tasksets of a configuration play.
func playedIDs(cfg *config.Config) (ids []string) {
	in := cfg.Buffer.ExplorerInput
	for _, t := range slices.Concat(in.Training(), in.EvalTasksets) {
		if id, is := t.WorkflowArgs["env_id"].(string); is {
			ids = append(ids, id)
		}
	}
	return ids
}

// keepIn writes what servers print to log/openenv.log in the folder of a job, and their episodes with all messages to
// rollouts/openenv.jsonl. Both are for people: if they cannot be written, the run goes on. s may be nil.
func (s *servers) keepIn(dir, level string) {
	if s == nil {
		return
	}
	if f := appendTo(dir, "log", "openenv.log"); f != nil {
		least, _ := logfile.Level(level)
		s.log.to(f, slog.New(logfile.NewHandler(f, "openenv", least)))
	}
	f := appendTo(dir, "rollouts", "openenv.jsonl")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRecord()
	if f != nil {
		s.record = f
	}
}

func appendTo(dir, folder, name string) *os.File {
	dir = filepath.Join(dir, folder)
	if os.MkdirAll(dir, 0o755) != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil
	}
	return f
}

// write records an episode. Without room on the disk that ends, with a note.
func (s *servers) write(e *openenv.Episode) {
	line, err := json.Marshal(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return
	}
	if err == nil {
		_, err = s.record.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintf(s.out, "note: episodes are no longer written to rollouts/openenv.jsonl: %v\n", err)
		s.closeRecord()
	}
}

// closeRecord ends the file. The caller holds mu.
func (s *servers) closeRecord() {
	if s.record != nil {
		s.record.Close()
	}
	s.record = nil
}

// Close closes the sessions and ends the servers that were started. s may be nil.
func (s *servers) Close() error {
	if s == nil {
		return nil
	}
	err := s.source.Close()
	s.log.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRecord()
	return err
}
