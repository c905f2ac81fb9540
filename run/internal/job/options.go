// Package job defines what a run is made of: Options, which a caller sets, and Job, the parts that are open.
package job

import (
	"cmp"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options come from the caller of a run rather than from its configuration. The zero value runs on local files.
type Options struct {
	Out       io.Writer                   // progress and summary
	Terminal  bool                        // Out is a terminal: a live line is shown
	Stop      <-chan struct{}             // closed: finish the step, save, end
	LookupEnv func(string) (string, bool) // os.LookupEnv in the program
	Now       func() time.Time            // time.Now by default
	Threads   int                         // of the local engine; 0 is all
	Order     string                      // of bf16 sums in a new job, as engine.Options has it
	Memory    int64                       // of the machine, in bytes; 0 is not known
	// Find turns a path of the configuration into where the file is; nil is the path itself. The program uses it to
	// serve the example that it carries.
	Find func(path string) string
	// Hub resolves names of models and data sets that Find does not lead to; nil: there are local files only.
	Hub *hub.Hub
	// Cache is a folder for what is made of other files, such as the model folder of a GGUF file; "": none can be made.
	Cache string
	// Ollama are the folders where Ollama's store may be, in the order they are searched; nil: nowhere.
	Ollama []string
	// Plugins are parts that the program brings, by the names that its configurations use.
	Plugins Plugins
	// Python is the Python of plug-in files.
	Python Python
	// Fleet is the address where workers connect to trinity gem; a run has it in its configuration.
	Fleet string
	// Version is the program's, which the workers of a fleet must have too.
	Version string
	// Rollouts is the address to serve the URLs of rollouts at; "": explorer.listen_address and explorer.proxy_port, if
	// a taskset has rollout_workflow.
	Rollouts string
	// Sandboxes says that the program's main begins with tool.Stage of rl/tool, so that code which models write can run
	// in a sandbox.
	Sandboxes bool
	// Wrap lets a caller put something of its own around the service; nil leaves it.
	Wrap func(tinker.Service) tinker.Service

	Tests
}

// Tests are what tests of this module put in place of the usual.
type Tests struct {
	FS       disk.FS                                       // nil is disk.OS
	Toolbox  env.Toolbox                                   // nil opens the tools that configurations name
	Fleeting func(engine.Options) (tinker.Service, error)  // an engine that forgets its models when the process ends
	Machine  func(engine.Options) (journal.Machine, error) // nil is the engine
}

// Python is the user's Python and the plug-in files that run in it.
type Python struct {
	Executable string   // a path or a name in PATH; "" is python3
	Dirs       []string // plug-in folders; plugin_dir of the configuration adds to them
	Path       []string // further folders that files import from, such as the current one
}

// Plugins are parts that a program of its own brings as values: what Python programs register by decorators. A
// configuration chooses them by the names here, as it does the built-in ones; a name that is built in too means the
// program's part. examples/plugin is a whole program.
type Plugins struct {
	Workflows map[string]workflow.Workflow // default_workflow_type
	Rewards   map[string]reward.Func       // default_reward_fn_type
	// data_processor.experience_pipeline.operators
	Operators    map[string]pipeline.Make
	Advantages   map[string]func(algorithm.Args) (algorithm.Advantage, error)  // algorithm.advantage_fn
	PolicyLosses map[string]func(algorithm.Args) (algorithm.PolicyLoss, error) // algorithm.policy_loss_fn
	// data_selector.selector_type of a taskset
	Selectors map[string]dataset.OpenSelector
	Monitors  map[string]monitor.OpenSink // monitor.monitor_type
}

// Tables are the plug-ins of an algorithm.
func (p Plugins) Tables() algorithm.Tables {
	return algorithm.Tables{Advantages: p.Advantages, PolicyLosses: p.PolicyLosses}
}

func (o Options) withDefaults() Options {
	o.Out = cmp.Or(o.Out, io.Discard)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.FS = cmp.Or(o.FS, disk.OS())
	if o.Find == nil {
		o.Find = func(path string) string { return path }
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	return o
}
