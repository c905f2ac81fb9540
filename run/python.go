package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	environments "github.com/seed-d9ad8ee0/trinity/rl/env/python"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// Python is the user's Python and the plug-in files that run in it.
type Python struct {
	Executable string   // a path or a name in PATH; "" is python3
	Dirs       []string // plug-in folders; plugin_dir of the configuration adds to them
	Path       []string // further folders that files import from, such as the current one
}

// plugins are the plug-in files of a run. A nil one has none.
type plugins struct {
	*plugin.Set
	environments *environments.Source
	log          *pythonLog
	judge        atomic.Pointer[service.Judge] // what operators ask
}

// withPython starts Python and loads the plug-in files, if a configuration or the caller names any.
func (o Options) withPython(ctx context.Context, cfg *config.Config) (Options, error) {
	dirs := slices.Clone(o.Python.Dirs)
	for _, dir := range filepath.SplitList(cfg.PluginDir) {
		dirs = append(dirs, o.Find(dir))
	}
	dotted := dottedOf(cfg, o.Plugins)
	named := len(dotted.Workflows) + len(dotted.Rewards) + len(dotted.Operators)
	if o.python != nil || len(dirs)+named == 0 && !playsPython(cfg) {
		return o, nil
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return o, fmt.Errorf("run: the plug-in folder %s is not there; name a folder with Python files in "+
				"--plugin-dir, TRINITY_PLUGIN_DIRS or plugin_dir", dir)
		}
	}
	x, log := cfg.Explorer, &pythonLog{}
	set, err := plugin.Open(ctx, plugin.Options{Dirs: dirs, Dotted: dotted,
		RewardTimeout: time.Duration(x.RewardTimeout * float64(time.Second)), Rewards: x.RewardConcurrency,
		Python: python.Options{Executable: o.Python.Executable, Dirs: slices.Concat(dirs, o.Python.Path),
			Env: variables(x.EnvVars), Imports: []string{environments.Module}, Processes: x.PythonProcesses,
			Threads: x.PythonThreads, Memory: int64(x.PythonMemory) << 20,
			Log: log.add}})
	if err != nil {
		return o, err
	}
	for _, e := range set.Errors {
		fmt.Fprintln(o.Out, "note: a plug-in file was not loaded:", foreign.Text(fmt.Sprint(e)))
	}
	o.python = &plugins{Set: set, log: log}
	o.python.environments = o.environmentsOn(ctx, set.Host(), log)
	return o, nil
}

// variables are explorer.env_vars as environment variables, in order of their names.
func variables(of map[string]any) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%s=%v", name, of[name]))
	}
	return list
}

// dottedOf are the names of a configuration that are dotted paths of Python, such as my_package.workflow.Mine.
func dottedOf(cfg *config.Config, own Plugins) (n plugin.Names) {
	add := func(list *[]string, name string, known bool) {
		if strings.Contains(name, ".") && !known && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	in := cfg.Buffer.ExplorerInput
	for _, t := range slices.Concat(in.Training(), in.EvalTasksets) {
		add(&n.Workflows, t.DefaultWorkflowType, own.Workflows[t.DefaultWorkflowType] != nil)
		add(&n.Rewards, t.DefaultRewardFnType, own.Rewards[t.DefaultRewardFnType] != nil)
	}
	for _, op := range cfg.DataProcessor.ExperiencePipeline.Operators {
		add(&n.Operators, op.Name, own.Operators[op.Name] != nil)
	}
	return n
}

// into adds the parts of plug-in files to those that the program brings. A name that both have is the file's.
func (p *plugins) into(own *site.Own) {
	if p == nil {
		return
	}
	own.Workflows, own.Rewards = maps.Clone(own.Workflows), maps.Clone(own.Rewards)
	own.Operators, own.Readers = maps.Clone(own.Operators), map[string]site.OpenReader{}
	if own.Workflows == nil {
		own.Workflows = map[string]workflow.Workflow{}
	}
	if own.Rewards == nil {
		own.Rewards = map[string]reward.Func{}
	}
	if own.Operators == nil {
		own.Operators = map[string]pipeline.Make{}
	}
	own.Environments = p.environments.Spec
	maps.Copy(own.Workflows, p.WorkflowsOf())
	maps.Copy(own.Rewards, p.RewardFuncs())
	maps.Copy(own.Operators, p.OperatorsOf(func() ([]workflow.Judge, []string) {
		j := p.judge.Load()
		return j.List(), j.Names()
	}))
	for name := range p.Readers {
		own.Readers[name] = func(ctx context.Context, section map[string]any) (*dataset.Source, error) {
			return p.Rows(ctx, name, section)
		}
	}
	own.Failed = p.Failed()
}

// Close ends the processes. p may be nil.
func (p *plugins) Close() error {
	if p == nil {
		return nil
	}
	p.environments.Close()
	err := p.Set.Close()
	p.log.close()
	return err
}

// logTo writes what Python prints to log/python.log in the folder of a job, what it printed so far included. The file
// is for people: if it cannot be written, the run goes on. p may be nil.
func (p *plugins) logTo(dir, level string) {
	if p == nil {
		return
	}
	p.log.open(dir, "python", level)
}

// open makes l write to log/NAME.log in the folder of a job.
func (l *pythonLog) open(dir, name, level string) {
	dir = filepath.Join(dir, "log")
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	least, _ := logfile.Level(level)
	l.to(f, slog.New(logfile.NewHandler(f, name, least)))
}

// ask gives operators the auxiliary models. p may be nil.
func (p *plugins) ask(j *service.Judge) {
	if p != nil {
		p.judge.Store(j)
	}
}

// show prints what Python prints. p may be nil.
func (p *plugins) show(out io.Writer) {
	if p == nil {
		return
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.also = out
}

// pythonLog takes what Python, or another program, prints and logs. It keeps the first lines until it is told where
// they go.
type pythonLog struct {
	who   string // prints; "" is python
	mu    sync.Mutex
	file  io.Closer
	log   *slog.Logger
	also  io.Writer
	early []python.Entry
}

const mostEarly = 1000

func (l *pythonLog) add(e python.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.also != nil {
		for line := range strings.Lines(e.Text) {
			fmt.Fprintf(l.also, "%-8s %s\n", cmp.Or(l.who, "python"), foreign.Plain(strings.TrimRight(line, "\n")))
		}
	}
	if l.log == nil {
		if len(l.early) < mostEarly {
			l.early = append(l.early, e)
		}
		return
	}
	l.write(e)
}

func (l *pythonLog) write(e python.Entry) {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warning": slog.LevelWarn,
		"error": slog.LevelError}[e.Level]
	if e.Task == "" {
		l.log.Log(context.Background(), level, e.Text)
		return
	}
	l.log.Log(context.Background(), level, e.Text, "task", e.Task)
}

func (l *pythonLog) to(file io.Closer, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.log = file, log
	for _, e := range l.early {
		l.write(e)
	}
	l.early = nil
}

func (l *pythonLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.log = nil, nil
}

// Names is what [config.Load] must know of the plug-in files before they are loaded.
func (p Python) Names() config.Names {
	n := config.Names{Refused: map[string]string{}}
	mentioned := plugin.Scan(p.Dirs)
	n.Readers = slices.Sorted(maps.Keys(mentioned["READER"]))
	for _, registry := range []string{"ADVANTAGE_FN", "POLICY_LOSS_FN", "KL_FN", "ENTROPY_LOSS_FN", "SAMPLE_STRATEGY",
		"ALGORITHM_TYPE"} {
		for name, place := range mentioned[registry] {
			n.Refused[name] = "what " + place + " registers cannot be used: losses, advantages and sample strategies " +
				"are computed by this program, without torch. Name one of its own (docs/reference/algorithms.md " +
				"lists them), or write it in Go (examples/plugin)"
		}
	}
	for registry, instead := range map[string]string{
		"SELECTORS": "name selector_type: sequential, shuffle, random, offline_easy2hard or difficulty_based",
		"MONITOR":   "name monitor_type: tensorboard, wandb, mlflow or trackio",
	} {
		for name, place := range mentioned[registry] {
			n.Refused[name] = "what " + place + " registers cannot be used from Python: " + instead + ", or bring it " +
				"from a Go program (examples/plugin)"
		}
	}
	return n
}
