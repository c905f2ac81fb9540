package program

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Job is a command that trains. Its variants, which differ in where they compute, must leave the same bits.
type Job struct {
	Program
	Name string
	Args []string
}

// Tiny is the arguments of a short run of the example that the program carries.
func Tiny() []string {
	return []string{"run", "--config", "examples/tiny/gsm8k.yaml", "seed=3", "buffer.total_steps=4",
		"trainer.total_steps=4", "buffer.batch_size=2", "algorithm.repeat_times=4", "trainer.save_interval=2",
		"buffer.explorer_input.eval_tasksets=[]"}
}

// Root is the folder of a variant.
func (j Job) Root(variant string) string { return filepath.Join(j.Home, j.Name, variant) }

// Command is a variant's command. more are further arguments.
func (j Job) Command(variant string, more ...string) *exec.Cmd {
	where := "checkpoint_root_dir="
	if j.Args[0] == "gem" {
		where = "output_dir="
	}
	return j.Program.Command(append(append(slices.Clone(j.Args), where+j.Root(variant)), more...)...)
}

// Alone runs the job in one process.
func (j Job) Alone() (Outcome, error) {
	if out, err := j.Command("alone").CombinedOutput(); err != nil {
		return Outcome{}, fmt.Errorf("%s: %w\n%s", j.Name, err, out)
	}
	return j.Outcome("alone")
}

// Over runs a variant over workers alone. start starts them.
func (j Job) Over(variant string, start func(creds string) error, more ...string) (Outcome, error) {
	p, err := Start(j.Command(variant, append([]string{"fleet.listen=127.0.0.1:0", "fleet.local=false"}, more...)...))
	if err != nil {
		return Outcome{}, err
	}
	defer p.Kill()
	creds, err := p.Await(regexp.MustCompile(Credentials))
	if err != nil {
		return Outcome{}, err
	}
	if err := start(creds[1]); err != nil {
		return Outcome{}, err
	}
	if err := p.Wait(); err != nil {
		return Outcome{}, fmt.Errorf("%s over workers: %w\n%s", j.Name, err, p.Said())
	}
	return j.Outcome(variant)
}

// Outcome has the results that must be equal to the bit.
type Outcome struct {
	Metrics []monitor.Line // without times
	Weights []string       // hashes of the saved tensors, sorted
}

// Outcome reads what a variant left.
func (j Job) Outcome(variant string) (o Outcome, err error) {
	for _, path := range j.files(variant, "metrics.jsonl") {
		lines, err := Metrics(path)
		if err != nil {
			return o, err
		}
		o.Metrics = append(o.Metrics, lines...)
	}
	for _, path := range j.files(variant, ".safetensors") {
		within := strings.Split(strings.TrimPrefix(path, j.Root(variant)), string(filepath.Separator))
		if slices.Contains(within, "fleet") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return o, err
		}
		o.Weights = append(o.Weights, fmt.Sprintf("%x", sha256.Sum256(raw)))
	}
	slices.Sort(o.Weights)
	o.Weights = slices.Compact(o.Weights)
	if len(o.Metrics) == 0 || len(o.Weights) == 0 {
		return o, fmt.Errorf("%s %s left %d lines of metrics and %d files of weights", j.Name, variant,
			len(o.Metrics), len(o.Weights))
	}
	return o, nil
}

// files lists the files of a variant whose names end so.
func (j Job) files(variant, end string) (list []string) {
	filepath.WalkDir(j.Root(variant), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, end) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// Differs says how another outcome differs; "" means not at all.
func (o Outcome) Differs(other Outcome) string {
	if d := DifferentMetrics(o.Metrics, other.Metrics); d != "" {
		return d
	}
	if !slices.Equal(o.Weights, other.Weights) {
		return fmt.Sprintf("weights %v, not %v", other.Weights, o.Weights)
	}
	return ""
}

// Metrics reads metrics.jsonl without times.
func Metrics(path string) ([]monitor.Line, error) {
	lines, err := monitor.ReadLog(path)
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("%s has no metrics", path)
	}
	for _, l := range lines {
		maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
	}
	return lines, err
}

// DifferentMetrics says how metrics differ from those that are wanted; "" means not at all.
func DifferentMetrics(want, got []monitor.Line) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d lines of metrics, not %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			return fmt.Sprintf("line %d of the metrics:\n%v\nnot\n%v", i+1, got[i], want[i])
		}
	}
	return ""
}

// Jobs are the arguments of short jobs of each kind, by name.
func Jobs() map[string][]string {
	short := []string{"seed=3", "buffer.total_steps=4", "trainer.total_steps=4", "trainer.save_interval=2",
		"monitor.monitor_type=tensorboard"}
	explore := append([]string{"buffer.batch_size=4", "algorithm.repeat_times=4",
		"buffer.explorer_input.eval_tasksets=[]"}, short...)
	run := func(file string, pairs ...string) []string {
		return append([]string{"run", "--config", "examples/tiny/" + file}, pairs...)
	}
	return map[string][]string{
		"gsm8k": run("gsm8k.yaml", explore...),
		"off1":  run("gsm8k_off1.yaml", explore...),
		"ppo": run("algorithms/ppo.yaml",
			append(slices.Clone(explore), "algorithm.advantage_fn_args.critic_warmup=2")...),
		"sft": run("algorithms/sft.yaml", short...),
		"pretrain": run("algorithms/sft.yaml", append(slices.Clone(short), "model.random_init=true",
			"model.tinker.rank=0", "algorithm.optimizer.lr=2e-3")...),
		"gem": {"gem", "--config", "examples/tiny/guess/easy.yaml", "max_steps=4", "eval_every=0", "save_every=2"},
	}
}
