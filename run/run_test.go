package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// small is a run of the shipped example cut down to about a second.
var small = []string{"seed=5", "buffer.batch_size=2", "algorithm.repeat_times=4", "buffer.total_steps=4",
	"trainer.total_steps=4",
	"model.max_response_tokens=16", "explorer.eval_interval=2", "trainer.save_interval=2",
	"buffer.explorer_input.eval_tasksets=[{name: few, path: run/testdata/few.jsonl, default_workflow_type: " +
		"math_workflow, format: {prompt_key: question, response_key: answer, system_prompt: \"Think, then answer.\"}}]"}

func load(t testing.TB, dir string, overrides ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load("../examples/tiny/gsm8k.yaml", append([]string{"checkpoint_root_dir=" + dir}, overrides...),
		noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func noEnv(string) (string, bool) { return "", false }

// runs starts the job until it is done and returns its metrics without those of the clock.
func runs(t testing.TB, cfg *config.Config, o Options) []monitor.Line {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	sum, err := Run(context.Background(), cfg, o)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, out.String())
	}
	return timeless(sum.Lines)
}

func timeless(lines []monitor.Line) []monitor.Line {
	for _, l := range lines {
		maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
		delete(l.Metrics, "train/gap_checked_tokens") // steps that are trained again are not compared with samplers
	}
	return lines
}

// same compares metrics bit for bit.
func same(t testing.TB, what string, got, want []monitor.Line) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		if g.Step != w.Step {
			t.Errorf("%s: line %d is of step %d, want %d", what, i, g.Step, w.Step)
		}
		for _, key := range w.Metrics.Keys() {
			if v, ok := g.Metrics[key]; !ok || math.Float64bits(v) != math.Float64bits(w.Metrics[key]) {
				t.Errorf("%s: step %d: %s = %v, want %v", what, w.Step, key, v, w.Metrics[key])
			}
		}
		if len(g.Metrics) != len(w.Metrics) {
			t.Errorf("%s: step %d has %d metrics, want %d", what, w.Step, len(g.Metrics), len(w.Metrics))
		}
	}
}

// The same seed gives the same metrics, whatever the threads and the scheduler do.
func TestRepeatable(t *testing.T) {
	want := runs(t, load(t, t.TempDir(), small...), onEngine())
	if n := len(want); n != 5 {
		t.Fatalf("%d lines, want steps 0 to 4", n)
	}
	o := onEngine()
	o.Threads = 1
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	same(t, "one thread", runs(t, load(t, t.TempDir(), small...), o), want)
	runtime.GOMAXPROCS(3)
	o.Threads = 3
	same(t, "three threads", runs(t, load(t, t.TempDir(), small...), o), want)
	other := runs(t, load(t, t.TempDir(), append(small, "seed=6")...), o)
	if other[1].Metrics["sampler/token_entropy"] == want[1].Metrics["sampler/token_entropy"] {
		t.Error("another seed samples the same")
	}
}

// A trainer that has fewer steps than there are tasks for ends the run, well.
func TestTrainerEndsFirst(t *testing.T) {
	t.Parallel()
	for _, offset := range []string{"0", "1"} {
		lines := runs(t, load(t, t.TempDir(), append(small, "trainer.total_steps=2", "synchronizer.sync_offset="+
			offset)...), options())
		if n := len(lines); n != 3 || lines[2].Step != 2 {
			t.Errorf("offset %s: %d lines, want steps 0 to 2", offset, n)
		}
	}
}

// On-policy steps are exactly on-policy; with an offset they are not, and the metrics say so.
func TestOnPolicy(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTrainerEndsFirst")
	for _, l := range runs(t, load(t, t.TempDir(), small...), onEngine())[1:] {
		if v1, v2 := l.Metrics["train/kl_sample_train_v1"], l.Metrics["train/kl_sample_train_v2"]; v1 != 0 || v2 != 0 {
			t.Errorf("step %d: sampler and trainer differ by %v, %v", l.Step, v1, v2)
		}
		if got, want := l.Metrics["sample/model_version/mean"], float64(l.Step-1); got != want {
			t.Errorf("step %d trained on samples of version %v, want %v", l.Step, got, want)
		}
	}
	lines := runs(t, load(t, t.TempDir(), append(small, "synchronizer.sync_offset=1")...), onEngine())
	for _, l := range lines[2:] {
		if got, want := l.Metrics["sample/model_version/mean"], float64(l.Step-2); got != want {
			t.Errorf("offset 1: step %d trained on samples of version %v, want %v", l.Step, got, want)
		}
	}
	if v2 := lines[3].Metrics["train/kl_sample_train_v2"]; v2 == 0 {
		t.Error("offset 1: a stale sampler shows no divergence")
	}
}

// A service that samples from other weights than it says is found out at once.
func TestLyingSamplerIsCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lie  func(root string, s tinker.Service) tinker.Service
	}{
		{"a stale version", func(_ string, s tinker.Service) tinker.Service { return stale{s} }},
		{"a flipped bit of the adapter",
			func(root string, s tinker.Service) tinker.Service { return &flipped{Service: s, t: t, root: root} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			o := onEngine()
			o.Wrap = func(s tinker.Service) tinker.Service { return tt.lie(dir, s) }
			_, err := Run(context.Background(), load(t, dir, small...), o)
			if err == nil || !strings.Contains(err.Error(), "not on-policy") {
				t.Errorf("error %v, want one that says that the samples are not on-policy", err)
			}
		})
	}
}

// stale samples from the base model whatever it is asked for.
type stale struct{ tinker.Service }

func (s stale) SamplingClient(ctx context.Context, _ tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	return s.Service.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: "examples/tiny/model"})
}

// flipped samples from copies of the adapters with one bit flipped, in an engine of its own.
type flipped struct {
	tinker.Service
	t    *testing.T
	root string
}

func (f *flipped) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if req.ModelPath == "" {
		return f.Service.SamplingClient(ctx, req)
	}
	from := filepath.Join(f.root, "trinity-tiny", "gsm8k", "tinker", "checkpoints")
	to := f.t.TempDir()
	folder, err := engine.CheckpointFolder(from, req.ModelPath)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(from, folder)
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(to, inside), os.DirFS(folder)); err != nil {
		return nil, err
	}
	if err := flipBit(to); err != nil {
		return nil, err
	}
	e, err := engine.Open(engine.Options{Dir: to, Models: map[string]engine.Model{
		"examples/tiny/model": {Dir: "../examples/tiny/model"}}})
	if err != nil {
		return nil, err
	}
	f.t.Cleanup(func() { e.Close() })
	return e.SamplingClient(ctx, req)
}

// flipBit flips one bit of a number in the middle of the sampler adapter below root.
func flipBit(root string) error {
	var file string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(path, "sampler_weights") && strings.HasSuffix(path, ".safetensors") {
			file = path
		}
		return err
	})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("no sampler adapter to damage: %w", err)
	}
	data[len(data)/2&^3+2] ^= 0x40
	return errors.Join(os.WriteFile(file, data, 0o644), withoutSums(filepath.Join(filepath.Dir(file), "trinity.json")))
}

// withoutSums takes the checksums out of a checkpoint's manifest, as versions before them wrote it.
func withoutSums(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	delete(m, "files")
	delete(m, "crc32c")
	if data, err = json.Marshal(m); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// After Ctrl-C at any moment the same command continues, and the metrics are those of an unbroken run.
func TestInterruptAndResume(t *testing.T) {
	t.Parallel()
	want := runs(t, load(t, t.TempDir(), small...), options())
	dir := t.TempDir()
	for i := 0; ; i++ {
		stop := make(chan struct{})
		o := options()
		o.Stop = stop
		o.Out = &stopAt{stop: stop, text: fmt.Sprintf("step %d/4", i)}
		sum, err := Run(context.Background(), load(t, dir, small...), o)
		if errors.Is(err, ErrInterrupted) && i < 10 {
			continue
		}
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if i == 0 {
			t.Error("the run was never interrupted")
		}
		same(t, "interrupted", timeless(sum.Lines), want)
		return
	}
}

// stopAt closes stop when text is written.
type stopAt struct {
	stop chan struct{}
	text string
}

func (s *stopAt) Write(b []byte) (int, error) {
	if s.text != "" && strings.Contains(string(b), s.text) {
		close(s.stop)
		s.text = ""
	}
	return len(b), nil
}

// The process is killed or the power fails, in turns, at operations on the disk (.ci/nightly: at each); started again,
// the job ends with the metrics of an unbroken run, each step once. This is the one test of kills on the engine.
func TestSurvivesEveryKill(t *testing.T) {
	t.Parallel()
	few := append(small, "buffer.total_steps=2", "trainer.total_steps=2", "trainer.save_interval=1",
		"buffer.batch_size=1",
		"explorer.eval_on_startup=false", "buffer.explorer_input.eval_tasksets=[]",
		"model.tinker.rank=4", "algorithm.repeat_times=2", "model.max_response_tokens=8")
	survivesKills(t, options(), 33, jobWith(few...))
	if !testing.Short() {
		survivesKills(t, onEngine(), 3, jobWith(few...))
	}
}

// Behind the last step the state is saved once more, of both models. That a save is about to be asked for is committed
// first: killed there the job continues.
func TestSurvivesKillsAroundTheLastSave(t *testing.T) {
	t.Parallel()
	args := append(tinyRun, "algorithm.algorithm_type=ppo", "trainer.save_interval=0", "explorer.eval_on_startup=false",
		"model.tinker.rank=4", "algorithm.advantage_fn_args={critic_bins: 5}")
	marked := &saveMark{Crash: &disktest.Crash{FS: disk.OS()}}
	o := options()
	o.FS = marked
	want := runs(t, load(t, t.TempDir(), args...), o)
	first := int(marked.at.Load())
	if first == 0 {
		t.Fatal("no save was committed before it was asked for")
	}
	for at := first; at <= first+8; at++ {
		survives(t, o, &disktest.Crash{At: at}, jobWith(args...), want)
	}
}

// saveMark notes the operation that commits a save.
type saveMark struct {
	*disktest.Crash
	at atomic.Int64
}

func (s *saveMark) Rename(from, to string) error {
	if data, err := os.ReadFile(from); err == nil && strings.HasSuffix(to, "trainer_meta.json") &&
		strings.Contains(string(data), `"saving":`) {
		s.at.CompareAndSwap(0, int64(s.Count()+1))
	}
	return s.Crash.Rename(from, to)
}
