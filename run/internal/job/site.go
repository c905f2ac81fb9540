package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Site is what a run gives to the programs that join it from outside. What they print and record goes to the folder of
// the job that is open: log/WORLD.log and rollouts/WORLD.jsonl. Both are for people: if they cannot be written, the run
// continues. Of what is printed before a job is open the first lines are kept. It is safe for concurrent use.
type Site struct {
	Player func() (outside.Player, error) // plays environments that call the model themselves; nil: nobody does

	options Options

	mu     sync.Mutex
	also   io.Writer         // gets the lines too; nil: nobody
	say    func(text string) // of the progress; nil: there is none
	judge  *Judge            // of the job
	dir    string            // of the job; "": none is open
	name   string            // of its explorer
	least  slog.Level
	worlds map[string]*world
}

// For is the site as worlds know it.
func (s *Site) For() outside.Site {
	o := s.options
	return outside.Site{Python: o.Python.Executable, Imports: o.Python.Path, Stop: o.Stop, Find: o.Find,
		LookupEnv: o.LookupEnv, Now: o.Now, Note: s.note, Log: s.log, Record: s.record, Folder: s.folder, Judges: s.judges, Player: s.Player}
}

// world is what is written of one kind of outside program.
type world struct {
	log      *slog.Logger // nil: not open
	record   *os.File     // nil: not open
	recorded bool         // whether record was opened, or given up
	early    []outside.Line
	files    []io.Closer
}

const mostEarly = 1000

// Show prints the lines to out too.
func (s *Site) Show(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.also = out
}

// In has lines and records written to the folder of a job from now on, at the given level.
func (s *Site) In(j *Job, level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	s.dir, s.name = j.Dir.Path, j.Config.Explorer.Name
	s.least, _ = logfile.Level(level)
	for name, w := range s.worlds {
		for _, line := range w.early {
			s.write(name, w, line)
		}
		w.early = nil
	}
}

// log writes a line.
func (s *Site) log(name string, line outside.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.also != nil {
		for text := range strings.Lines(line.Text) {
			fmt.Fprintf(s.also, "%-8s %s\n", name, foreign.Plain(strings.TrimRight(text, "\n")))
		}
	}
	w := s.of(name)
	if s.dir != "" {
		s.write(name, w, line)
	} else if len(w.early) < mostEarly {
		w.early = append(w.early, line)
	}
}

// record adds v to the records. If the disk is full that ends, with a note.
func (s *Site) record(name string, v any) {
	text, err := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.of(name)
	if s.dir == "" {
		return
	}
	file := filepath.Join("rollouts", name+".jsonl")
	if !w.recorded {
		w.recorded, w.record = true, w.open(filepath.Join(s.dir, file))
	}
	if w.record == nil {
		return
	}
	if err == nil {
		_, err = w.record.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintf(s.options.Out, "note: episodes are no longer written to %s: %v\n", file, err)
		w.record = nil
	}
}

// tell has notes go to say; nil: to Out.
func (s *Site) tell(say func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
}

// note tells the user something.
func (s *Site) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.say != nil {
		s.say("note: " + text)
		return
	}
	fmt.Fprintln(s.options.Out, "note:", foreign.Text(text))
}

// folder is where a world has files of its own: below the job's, so that the next start finds what a killed one left.
func (s *Site) folder(world string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return ""
	}
	folder := filepath.Join(s.dir, world, disk.Name(s.name))
	if abs, err := filepath.Abs(folder); err == nil {
		return abs
	}
	return folder
}

// judges are the models that plug-ins ask.
func (s *Site) judges() ([]workflow.Judge, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judge.List(), s.judge.Names()
}

// Close closes the files.
func (s *Site) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	return nil
}

func (s *Site) close() {
	for _, w := range s.worlds {
		for _, f := range w.files {
			f.Close()
		}
		*w = world{early: w.early}
	}
	s.dir = ""
}

func (s *Site) of(name string) *world {
	if s.worlds == nil {
		s.worlds = map[string]*world{}
	}
	if s.worlds[name] == nil {
		s.worlds[name] = &world{}
	}
	return s.worlds[name]
}

func (s *Site) write(name string, w *world, line outside.Line) {
	if w.log == nil {
		var to io.Writer = io.Discard
		if f := w.open(filepath.Join(s.dir, "log", name+".log")); f != nil {
			to = f
		}
		w.log = slog.New(logfile.NewHandler(to, name, s.least))
	}
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warning": slog.LevelWarn,
		"error": slog.LevelError}[line.Level]
	var args []any
	if line.Task != "" {
		args = []any{"task", line.Task}
	}
	w.log.Log(context.Background(), level, line.Text, args...)
}

// open opens a file to add to; nil if that fails.
func (w *world) open(path string) *os.File {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil
	}
	w.files = append(w.files, f)
	return f
}
