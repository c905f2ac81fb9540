//go:build unix

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	loopBench  = flag.Bool("loop", false, "measure the loops over a distant server")
	loopPython = flag.String("loop.python", "", "a Python that has tinker-cookbook, to measure its loop too")
)

// chain is the shortest possible chain of calls of an on-policy step: each call needs the answer of the one before.
var chain = []string{"create_sampling_session", "asample", "retrieve_future", "forward_backward", "optim_step",
	"save_weights_for_sampler", "retrieve_future"}

// tooLong is the time after which a run counts as hanging.
const tooLong = 4 * time.Minute

// program is the binary, run as a user would.
type program struct {
	path, root, jobs string
}

func buildProgram(tb testing.TB) program {
	tb.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	p := program{filepath.Join(tb.TempDir(), "trinity"), root, tb.TempDir()}
	cmd := exec.Command("go", "build", "-o", p.path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return p
}

// outcome is the cost of a run: processor time, and peak memory in bytes.
type outcome struct {
	began time.Time
	cpu   time.Duration
	peak  int64
}

func outcomeOf(began time.Time, s *os.ProcessState) outcome {
	return outcome{began, s.UserTime() + s.SystemTime(), s.SysUsage().(*syscall.Rusage).Maxrss << 10}
}

// run trains to the end in a new job directory.
func (p program) run(tb testing.TB, f *far, config string, overrides ...string) outcome {
	tb.Helper()
	args := append([]string{"run", "--config", config, "model.tinker.base_url=" + f.url,
		"buffer.explorer_input.eval_tasksets=[]",
		"explorer.eval_on_startup=false", "explorer.eval_interval=1000", "trainer.save_interval=1000"}, overrides...)
	cmd := exec.Command(p.path, args...)
	dir, err := os.MkdirTemp(p.jobs, "job")
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "TINKER_API_KEY=tml-loop", "HF_HUB_OFFLINE=1",
		"TRINITY_CHECKPOINT_ROOT_DIR="+dir)
	stuck := time.AfterFunc(tooLong, func() { cmd.Process.Signal(syscall.SIGQUIT) }) // shows what it waits for
	defer stuck.Stop()
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return outcomeOf(began, cmd.ProcessState)
}

// rows writes a taskset with the first n rows of a file, repeated if it has fewer.
func rows(tb testing.TB, file string, n int) string {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	path := filepath.Join(tb.TempDir(), "train.jsonl")
	var text strings.Builder
	for i := range n {
		text.WriteString(lines[i%len(lines)])
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

func onlySteps(n int) []string {
	return []string{fmt.Sprintf("buffer.total_steps=%d", n), fmt.Sprintf("trainer.total_steps=%d", n)}
}

// TestLoop measures what the loops add to network and service. It is a benchmark with limits: `make bench-loop`.
func TestLoop(t *testing.T) {
	if !*loopBench {
		t.Skip("asked for by -loop")
	}
	p := buildProgram(t)
	t.Logf("%s %s/%s, %d CPUs, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	t.Run("start", func(t *testing.T) { loopStart(t, p) })
	t.Run("step", func(t *testing.T) { loopStep(t, p) })
	t.Run("memory", func(t *testing.T) { loopMemory(t, p) })
}

// loopStep measures 96 tasks with 8 repetitions: with one request per task, one per sample, and the cookbook's loop.
func loopStep(t *testing.T, p program) {
	grouped := newFar(t, "examples/tiny/model", "../../examples/tiny/model")
	single := newFar(t, "examples/tiny/guess/model", "../../examples/tiny/guess/model")
	math := []string{"buffer.batch_size=96", "buffer.explorer_input.taskset.split=",
		"buffer.explorer_input.taskset.path=" + rows(t, "../../examples/tiny/data/train.jsonl", 96)}
	games := []string{"buffer.batch_size=96", "buffer.explorer_input.taskset.split=",
		"buffer.explorer_input.taskset.workflow_args.max_turns=1",
		"buffer.explorer_input.taskset.path=" + rows(t, "../../examples/tiny/guess/seeds/train.jsonl", 96)}
	ours := func(f *far, latency time.Duration, n int, config string, overrides []string) outcome {
		f.reset(latency, 0)
		return p.run(t, f, config, append(onlySteps(n), overrides...)...)
	}
	ours(grouped, 0, 1, "examples/tiny/gsm8k.yaml", math) // the engine's answers are recorded
	ours(single, 0, 1, "examples/tiny/guess/workflow.yaml", games)
	if *loopPython != "" {
		cookbook(t, grouped, 0, 5)
	}
	t.Log("| latency | loop | a step, median (least to most) | | calls a step " +
		"| processor time a step, start included | peak memory |")
	for _, latency := range []time.Duration{100 * time.Millisecond, time.Second} {
		limit := time.Duration(len(chain))*latency + 250*time.Millisecond
		if latency >= time.Second {
			limit = time.Duration(1.05 * float64(len(chain)) * float64(latency))
		}
		o := ours(grouped, latency, 7, "examples/tiny/gsm8k.yaml", math)
		if took := report(t, grouped, latency, "trinity run, math_workflow, a request for each task", o); took > limit {
			t.Errorf("a step took %v; its longest chain of calls takes %v, and %v are allowed", took,
				time.Duration(len(chain))*latency, limit)
		}
		o = ours(single, latency, 7, "examples/tiny/guess/workflow.yaml", games)
		report(t, single, latency, "trinity run, gem_workflow, a request for each sample", o)
		if *loopPython != "" {
			o = cookbook(t, grouped, latency, 5)
			report(t, grouped, latency, "tinker-cookbook, math_rl, a request for each sample", o)
		}
	}
}

// report logs the time of a step (the median without the first) and its number of calls.
func report(t *testing.T, f *far, latency time.Duration, what string, o outcome) time.Duration {
	t.Helper()
	all := f.intervals(1)
	if len(all) == 0 {
		t.Fatalf("%s: %d optimizer steps", what, len(f.steps))
	}
	took, n := all[len(all)/2], len(f.steps)
	ideal := time.Duration(len(chain)) * latency
	t.Logf("| %v | %s | %.3f s (%.3f to %.3f) | %.3f × the chain of %d calls, %+.0f ms "+
		"| %d asample, %d retrieve_future | %.2f s | %d MiB |",
		latency, what, took.Seconds(), all[0].Seconds(), all[len(all)-1].Seconds(), float64(took)/float64(ideal),
		len(chain), float64(took-ideal)/1e6,
		f.calls["asample"]/n, f.calls["retrieve_future"]/n, o.cpu.Seconds()/float64(n), o.peak>>20)
	return took
}

// cookbook runs tinker-cookbook's loop with as many tasks and repetitions.
func cookbook(t *testing.T, f *far, latency time.Duration, n int) outcome {
	t.Helper()
	f.reset(latency, 0)
	cmd := exec.Command(*loopPython, "-m", "tinker_cookbook.recipes.math_rl.train", "env=arithmetic",
		"model_name=examples/tiny/model", "renderer_name=qwen3_instruct", "max_tokens=40",
		"groups_per_batch=96", "group_size=8", fmt.Sprintf("max_steps=%d", n), "eval_every=0", "save_every=0",
		"log_path="+filepath.Join(t.TempDir(), "log"))
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "TINKER_BASE_URL="+f.url, "TINKER_API_KEY=tml-loop",
		"TINKER_TELEMETRY=0", "HF_HUB_OFFLINE=1", "WANDB_MODE=disabled")
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tinker-cookbook: %v\n%s", err, out[max(0, len(out)-4000):])
	}
	return outcomeOf(began, cmd.ProcessState)
}

// loopMemory measures 10,000 rollouts of one request each, all sent before the first is answered.
func loopMemory(t *testing.T, p program) {
	const tasks, repeats, limit = 1250, 8, 1 << 30
	f := newFar(t, "examples/tiny/guess/model", "../../examples/tiny/guess/model")
	f.reset(0, tasks*repeats)
	overrides := append(onlySteps(1), fmt.Sprintf("buffer.batch_size=%d", tasks),
		"buffer.explorer_input.taskset.split=",
		"buffer.explorer_input.taskset.workflow_args.max_turns=1",
		"buffer.explorer_input.taskset.path="+rows(t, "../../examples/tiny/guess/seeds/train.jsonl", tasks))
	o := p.run(t, f, "examples/tiny/guess/workflow.yaml", overrides...)
	t.Logf("%d rollouts in flight at a time, each a request: peak %d MiB", f.most, o.peak>>20)
	if f.most < tasks*repeats || o.peak > limit {
		t.Errorf("%d rollouts in flight in %d MiB; want at least %d in at most %d MiB", f.most, o.peak>>20,
			tasks*repeats,
			limit>>20)
	}
}

// loopStart measures the time from exec to the first sampling request, with the shipped tokenizer and with one of
// 128,000 entries.
func loopStart(t *testing.T, p program) {
	f := newFar(t, "examples/tiny/model", "../../examples/tiny/model")
	for _, c := range []struct {
		what      string
		limit     time.Duration
		overrides []string
	}{
		{"the shipped tokenizer", 200 * time.Millisecond, nil},
		{"a tokenizer of 128,000 entries and 240,000 merges", 500 * time.Millisecond,
			[]string{"model.model_path=" + large(t), "model.tinker.base_model=examples/tiny/model"}},
	} {
		var took []time.Duration
		for range 7 {
			f.reset(0, 0)
			o := p.run(t, f, "examples/tiny/gsm8k.yaml", append(onlySteps(1), c.overrides...)...)
			took = append(took, f.sample.Sub(o.began))
		}
		slices.Sort(took)
		t.Logf("from exec to the first request for a sample, %s: %v (%v to %v)", c.what, took[3], took[0], took[6])
		if took[3] > c.limit {
			t.Errorf("the first sample was asked for after %v, %v are allowed", took[3], c.limit)
		}
	}
}

// large is a folder with the shipped tokenizer and more entries, 128,000 in total like Llama 3's. The new entries are
// two or three bytes that no English text contains, each with every merge that can make it, so prompts are encoded as
// before.
func large(tb testing.TB) string {
	tb.Helper()
	const shipped, entries = "../../examples/tiny/model", 128_000
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS(shipped)); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, "tokenizer.json")
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var file, model map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	model = file["model"].(map[string]any)
	vocab, merges := model["vocab"].(map[string]any), model["merges"].([]any)
	var bytes []string
	for word := range vocab {
		if r := []rune(word); len(r) == 1 && r[0] >= 0xa1 {
			bytes = append(bytes, word)
		}
	}
	slices.Sort(bytes)
	next := entries - len(bytes)*len(bytes)
	pair := func(a, b string) { merges = append(merges, []string{a, b}) }
	for _, a := range bytes {
		for _, b := range bytes {
			vocab[a+b] = next
			next++
			pair(a, b)
		}
	}
	next = len(model["vocab"].(map[string]any)) - len(bytes)*len(bytes)
	for _, t := range file["added_tokens"].([]any) {
		next = max(next, int(t.(map[string]any)["id"].(float64))+1)
	}
	for i := 0; next < entries-len(bytes)*len(bytes); i++ {
		n := len(bytes)
		a, b, c := bytes[i/n/n%n], bytes[i/n%n], bytes[i%n]
		vocab[a+b+c] = next
		next++
		pair(a+b, c)
		pair(a, b+c)
	}
	model["merges"] = merges
	if data, err = json.Marshal(file); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return dir
}
