package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const memoryModel = "../examples/tiny/model"

// memoryChild is the environment variable of the process that TestEstimateHolds measures.
const memoryChild = "TRINITY_TEST_MEMORY_CHILD"

// The estimated weights are the size of the shipped file without its header.
func TestMemoryEstimate(t *testing.T) {
	conf, err := Describe("../examples/tiny/model")
	if err != nil {
		t.Fatal(err)
	}
	lora, full := conf.Memory(0, 64, 100, 32), conf.Memory(0, 64, 100, 0)
	if want := 2 * conf.Parameters; lora.Weights != want {
		t.Errorf("Weights = %d, want %d", lora.Weights, want)
	}
	if want := int64(2 * 64 * 4 * 4 * conf.config.Pages().Floats()); lora.Cache != want || lora.CacheFull {
		t.Errorf("Cache = %d, want four pages for each sample, twice, %d", lora.Cache, want)
	}
	if many := conf.Memory(0, 1<<20, 100, 32); many.Cache != (1<<30) || !many.CacheFull || many.Pages != 0 {
		t.Errorf("a million samples: %+v, want a cache of %d", many, (1 << 30))
	}
	if lora.Optimizer >= full.Optimizer {
		t.Errorf("an adapter takes %d and all weights %d", lora.Optimizer, full.Optimizer)
	}
}

// A larger machine keeps more keys, values and activations, a small one no less than the defaults.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		memory      int64
		models      int
		cache, tape int64
	}{
		{0, 1, 1 << 30, 1 << 30}, {8 << 30, 1, 1 << 30, 1 << 30}, {64 << 30, 0, 8 << 30, 4 << 30},
		{64 << 30, 1, 8 << 30, 4 << 30}, {64 << 30, 4, 2 << 30, 4 << 30}, {64 << 30, 100, 1 << 30, 4 << 30},
	} {
		o := Options{Models: map[string]Model{}}
		for i := range c.models {
			o.Models[fmt.Sprint(i)] = Model{}
		}
		if o.Fit(c.memory); o.CacheBytes != c.cache || o.TapeBytes != c.tape {
			t.Errorf("%d bytes, %d models: %d and %d, want %d and %d", c.memory, c.models, o.CacheBytes, o.TapeBytes,
				c.cache, c.tape)
		}
	}
	conf, err := Describe("../examples/tiny/model")
	if err != nil {
		t.Fatal(err)
	}
	if many := conf.Memory(64<<30, 1<<20, 100, 32); many.Cache != 8<<30 {
		t.Errorf("a million samples on a large machine: a cache of %d", many.Cache)
	}
}

// The work of TestEstimateHolds: long samples, and a tree of nearly the most tokens.
const (
	memorySamples = 64
	memoryLength  = 256
	memoryAnswer  = 16
	memoryTrained = 25
	memoryPrompt  = 96
)

// TestEstimateHolds: a process that samples and trains takes about the estimated memory.
func TestEstimateHolds(t *testing.T) {
	if os.Getenv(memoryChild) != "" {
		memoryWork(t)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("nothing here says how much memory a process has had")
	}
	if raceDetector() {
		t.Skip("the race detector's notes on every word are most of the memory")
	}
	conf, err := Describe(memoryModel)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestEstimateHolds$", "-test.v")
	child.Env = append(os.Environ(), memoryChild+"=1")
	out, err := child.CombinedOutput()
	var before, after int64
	if _, rest, ok := strings.Cut(string(out), "memory: "); err != nil || !ok {
		t.Fatalf("%v\n%s", err, out)
	} else if _, err := fmt.Sscanf(rest, "%d %d", &before, &after); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took, m := after-before+programBytes, conf.Memory(0, memorySamples, memoryLength, 32)
	t.Logf("%s estimated, %s taken: %+v", mb(m.Training()), mb(took), m)
	if said := m.Training(); 4*took > 5*said || 3*took < 2*said {
		t.Errorf("%s are estimated and %s are taken", mb(said), mb(took))
	}
}

func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// raceDetector reports whether this program was built with -race.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// memoryWork samples and trains, and prints its peak memory before and after.
func memoryWork(t *testing.T) {
	before := mostMemory(t)
	path, err := filepath.Abs(memoryModel)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := Describe(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(Options{Dir: t.TempDir(), Models: map[string]Model{"m": {Dir: path}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seed := int64(1)
	c, err := e.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "m",
		LoRA: tinker.LoRA{Rank: 32, Alpha: 32, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		t.Fatal(err)
	}
	text := func(first, n int) (ids []int32) {
		for i := range n {
			ids = append(ids, int32((first*31+i*7919)%conf.Vocab))
		}
		return ids
	}
	for i := range 2 {
		f, err := c.SaveWeightsForSampler(t.Context(), tinker.SaveRequest{Name: fmt.Sprint("step", i)})
		s, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{ModelPath: waited(t, f, err).Path})
		if err != nil {
			t.Fatal(err)
		}
		var all []*tinker.Future[tinker.SampleResponse]
		for i := range memorySamples {
			p := tinker.DefaultSampling()
			p.MaxTokens, p.StopTokens = memoryAnswer, []int32{int32(conf.Vocab - 1)}
			f, err := s.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(text(i,
				memoryLength-memoryAnswer)), NumSamples: 1, Params: p})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, f)
		}
		for _, f := range all {
			waited(t, f, nil)
		}
		g, err := c.ForwardBackward(t.Context(), tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
			Data: memoryData(text)})
		waited(t, g, err)
		o, err := c.OptimStep(t.Context(), tinker.OptimStepRequest{Adam: tinker.DefaultAdam()})
		waited(t, o, err)
	}
	fmt.Printf("memory: %d %d\n", before, mostMemory(t))
}

// memoryData is memoryTrained sequences of memoryLength tokens that begin with the same prompt.
func memoryData(text func(first, n int) []int32) (data []tinker.Datum) {
	for i := range memoryTrained {
		targets, weights := make([]int64, memoryLength), make([]float32, memoryLength)
		all := append(text(0, memoryPrompt), text(i, memoryLength-memoryPrompt)...)
		for j, id := range all {
			targets[j], weights[j] = int64(id), 1
		}
		data = append(data, tinker.Datum{ModelInput: tinker.Text(all),
			LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.Ints(targets),
				tinker.Weights: tinker.Floats(weights)}})
	}
	return data
}

func waited[T any](t *testing.T, f *tinker.Future[T], err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// mostMemory is the most bytes that this process has had.
func mostMemory(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	t.Fatal("/proc/self/status has no VmHWM")
	return 0
}
