// Command load measures the time and memory to load the weights of a model folder, and of two training passes after it.
//
// Needs: a model folder as its argument, and Linux
// Takes: a minute
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/measure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Println("skipped: name a model folder: go run ./bench load FOLDER")
		return
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	start := time.Now()
	size, err := read(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%.0f MiB of weights read in %.2f s\n", size, time.Since(start).Seconds())
	b, err := measure.New("")
	if err != nil {
		return err
	}
	defer b.Close()
	before, err := memory("VmRSS")
	if err != nil {
		return err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the peak
		fmt.Println("the peak includes earlier memory:", err)
	}
	start = time.Now()
	if err := b.Load(dir, runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	peak, err1 := memory("VmHWM")
	after, err2 := memory("VmRSS")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fmt.Printf("loaded in %.2f s; peak %.3f, afterwards %.3f times the files' size\n", took, (peak-before)/size,
		(after-before)/size)
	return train(b, dir, before, size)
}

// train runs forward and backward of a LoRA on 512 tokens, cold and warm.
func train(b *measure.Bench, dir string, before, size float64) error {
	conf, err := engine.Describe(dir)
	if err != nil {
		return err
	}
	ids := make([]int32, 512)
	for i := range ids {
		ids[i] = int32(i * 7919 % conf.Vocab)
	}
	for _, pass := range []string{"cold", "warm"} {
		r, err := b.Train([][]int32{ids}, 8)
		if err != nil {
			return err
		}
		fmt.Printf("a %s training pass of 512 tokens: %.2f s\n", pass, r.Seconds)
	}
	peak, err := memory("VmHWM")
	fmt.Printf("peak %.3f times the files' size\n", (peak-before)/size)
	return err
}

// read reads the weight files once and returns their MiB.
func read(dir string) (size float64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) == 0 {
		return 0, errors.Join(fmt.Errorf("%s has no *.safetensors", dir), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
		size += float64(n) / (1 << 20)
	}
	return size, nil
}

// memory is a line of /proc/self/status in MiB.
func memory(key string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(key + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("/proc/self/status has no %s", key)
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	return kib / 1024, err
}
