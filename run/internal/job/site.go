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

// Site serves the programs that join a run from outside. What they print and record goes to the folder of the job that
// is open: log/WORLD.log and rollouts/WORLD.jsonl. Nothing reads these files: if they cannot be written, the run
// continues. Of what is printed before a job is open the first lines are kept. It is safe for concurrent use.
type Site struct {
	Player func() (outside.Player, error) // plays environments that call the model themselves; nil: nobody does

	options Options

	mu      sync.Mutex
	also    io.Writer         // gets the lines too; nil: nobody
	say     func(text string) // of the progress; nil: there is none
	judge   *Judge            // of the job
	dir     string            // of the job; "": none is open
	name    string            // of its explorer
	least   slog.Level
	logs    map[string]*log
	records map[string]*os.File // nil: not open
}

// log is a log file, or the first lines that it will have.
type log struct {
	file  *os.File
	to    *slog.Logger // nil: not open
	early []outside.Line
}

const mostEarly = 1000

// For is the site as worlds know it.
func (s *Site) For() outside.Site {
	o := s.options
	return outside.Site{Python: o.Python.Executable, Imports: o.Python.Path, Stop: o.Stop, Find: o.Find,
		LookupEnv: o.LookupEnv, Now: o.Now, Note: s.note, Log: s.log, Record: s.record, Folder: s.folder,
		Judges: s.judges, Player: s.Player}
}

// Show prints what worlds print to out too.
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
	for world, l := range s.logs {
		l.open(s.dir, world, s.least)
	}
	for world := range s.records {
		s.records[world] = appendTo(s.dir, "rollouts", world+".jsonl")
	}
}

// log opens a world's log.
func (s *Site) log(world string) func(outside.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs == nil {
		s.logs = map[string]*log{}
	}
	l := &log{}
	s.logs[world] = l
	return func(line outside.Line) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.also != nil {
			for text := range strings.Lines(line.Text) {
				fmt.Fprintf(s.also, "%-8s %s\n", world, foreign.Plain(strings.TrimRight(text, "\n")))
			}
		}
		l.add(line)
	}
}

func (l *log) open(dir, world string, least slog.Level) {
	if l.file = appendTo(dir, "log", world+".log"); l.file == nil {
		return
	}
	l.to = slog.New(logfile.NewHandler(l.file, world, least))
	for _, line := range l.early {
		l.add(line)
	}
	l.early = nil
}

func (l *log) add(line outside.Line) {
	if l.to == nil {
		if len(l.early) < mostEarly {
			l.early = append(l.early, line)
		}
		return
	}
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warning": slog.LevelWarn,
		"error": slog.LevelError}[line.Level]
	var args []any
	if line.Task != "" {
		args = []any{"task", line.Task}
	}
	l.to.Log(context.Background(), level, line.Text, args...)
}

// record opens a world's records. If the disk is full they end, with a note.
func (s *Site) record(world string) func(any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records == nil {
		s.records = map[string]*os.File{}
	}
	s.records[world] = nil
	return func(v any) {
		text, err := json.Marshal(v)
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.records[world]
		if f == nil {
			return
		}
		if err == nil {
			_, err = f.Write(append(text, '\n'))
		}
		if err != nil {
			fmt.Fprintf(s.options.Out, "note: episodes are no longer written to rollouts/%s.jsonl: %v\n", world, err)
			f.Close()
			s.records[world] = nil
		}
	}
}

// appendTo opens a file to add to; nil if that fails.
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

// Close closes the files.
func (s *Site) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	return nil
}

func (s *Site) close() {
	for _, l := range s.logs {
		if l.file != nil {
			l.file.Close()
		}
		l.file, l.to = nil, nil
	}
	for world, f := range s.records {
		if f != nil {
			f.Close()
		}
		s.records[world] = nil
	}
	s.dir = ""
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
