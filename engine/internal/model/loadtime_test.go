//go:build linux

package model

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

var loadTrain = flag.Bool("load.train", false, "with -load.folder: train for two steps too")

var loadFolder = flag.String("load.folder", "",
	"a model folder to load and train for a step: seconds and memory are printed")

// TestLoadFolder measures the time and memory to load the weights of a real-sized model: go test
// ./engine/internal/model -run TestLoadFolder -load.folder DIR -v
func TestLoadFolder(t *testing.T) {
	if *loadFolder == "" {
		t.Skip("no -load.folder")
	}
	size, began := 0.0, cpuSeconds()
	files, err := filepath.Glob(filepath.Join(*loadFolder, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	start := time.Now()
	for _, f := range files {
		file, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{file}, make([]byte, 1<<20))
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		size += float64(n) / (1 << 20)
	}
	t.Logf("%.0f MiB of weights read in %.2f s, %.2f s of processor time", size, time.Since(start).Seconds(),
		cpuSeconds()-began)
	r, k := newRunner(t, 2)
	debug.FreeOSMemory()
	before := memoryMiB(t, "VmRSS")
	resetPeak(t)
	start, began = time.Now(), cpuSeconds()
	w, err := Load(*loadFolder, r.Compute)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("loaded in %.2f s, %.2f s of processor time; peak %.3f, afterwards %.3f times the files' size",
		time.Since(start).Seconds(), cpuSeconds()-began,
		(memoryMiB(t, "VmHWM")-before)/size, (memoryMiB(t, "VmRSS")-before)/size)
	if *loadTrain {
		trainStep(t, r, w, k)
	}
	t.Logf("a step of training on 512 tokens later: peak %.3f times", (memoryMiB(t, "VmHWM")-before)/size)
}

// trainStep runs forward and backward of a LoRA on 512 tokens.
func trainStep(t *testing.T, r *Runner, w *Weights, k *kernel.Set) {
	l := LoRA{Rank: 8, Alpha: 16, Attn: true, MLP: true}
	tensors := w.NewLoRA(l, 1)
	a, err := w.NewAdapter(l, tensors, k)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, 512)
	for i := range ids {
		ids[i] = int32(i * 7919 % w.Config.Vocab)
	}
	seqs, tape, logp := batch(w.Config, a, ids), r.NewTape(true), make([]float32, len(ids))
	for _, run := range []string{"cold", "warm"} {
		start := time.Now()
		hidden := r.Forward(w, seqs, tape)
		r.Score(w, seqs, hidden, next(ids), 1, logp, func(_ int, _, g []float32) { g[0] = -1 }, tape)
		middle := time.Now()
		r.Backward(w, seqs, tape, NewGrads(tensors))
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		t.Logf("%s: forward %.2f s, backward %.2f s", run, middle.Sub(start).Seconds(), time.Since(middle).Seconds())
	}
}

// memoryMiB reads a line of /proc/self/status.
func memoryMiB(t *testing.T, key string) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(key + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no %s in\n%s", key, status)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return float64(kib) / 1024
}

// resetPeak returns freed memory to the system and resets VmHWM.
func resetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak includes earlier memory: %v", err)
	}
}
