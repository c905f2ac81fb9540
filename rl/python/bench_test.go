package python_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pipeEcho is the bound: a Python that reads a line, decodes and encodes it as JSON, and writes it. No ids, no threads.
const pipeEcho = `import sys, json
r, w = sys.stdin.buffer, sys.stdout.buffer
for line in r:
    w.write(json.dumps(json.loads(line)).encode() + b"\n")
    w.flush()
`

// BenchmarkCall measures an empty call: how long one takes alone (p50, p99 in µs), and how many pass in a second when
// many callers wait. The ratios are to a bare echo over a pipe, measured in the same run.
func BenchmarkCall(b *testing.B) {
	echo := median(b, newEcho(b))
	for _, kind := range []string{"sync", "async"} {
		h := open(b, nil)
		call := func() error { return h.Call(b.Context(), "test.empty_"+kind, struct{}{}, nil, nil) }
		b.Run(kind+"/alone", func(b *testing.B) {
			times := sample(b, b.N, call)
			b.ReportMetric(micros(times[len(times)/2]), "p50-µs")
			b.ReportMetric(micros(times[len(times)*99/100]), "p99-µs")
			b.ReportMetric(float64(times[len(times)/2])/float64(echo), "p50/echo")
		})
		for _, callers := range []int{8, 64, 512} {
			b.Run(fmt.Sprintf("%s/callers=%d", kind, callers), func(b *testing.B) {
				rate := throughput(b, callers, call)
				b.ReportMetric(rate, "calls/s")
				b.ReportMetric(rate*echo.Seconds(), "×echo")
			})
		}
	}
}

// BenchmarkCallBeside is a call beside others that compute without a pause, which share the interpreter's lock with it.
func BenchmarkCallBeside(b *testing.B) {
	for _, busy := range []int{1, 4} {
		b.Run(fmt.Sprintf("busy=%d", busy), func(b *testing.B) {
			h := open(b, nil)
			ctx, cancel := context.WithCancel(b.Context())
			for range busy {
				begin(ctx, b, h, "fail.spin", 60)
			}
			times := sample(b, b.N, func() error { return h.Call(b.Context(), "test.empty_sync", args{}, nil, nil) })
			b.ReportMetric(micros(times[len(times)/2]), "p50-µs")
			cancel()
		})
	}
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// sample returns the times of n calls, sorted.
func sample(b *testing.B, n int, call func() error) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times
}

func median(b *testing.B, call func() error) time.Duration {
	return sample(b, 2000, call)[1000]
}

// throughput makes b.N calls from many goroutines and returns calls per second.
func throughput(b *testing.B, callers int, call func() error) float64 {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	start := time.Now()
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(b.N) / time.Since(start).Seconds()
}

// newEcho returns a call of pipeEcho.
func newEcho(b *testing.B) func() error {
	cmd := exec.Command("python3", "-c", pipeEcho)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	r := bufio.NewReader(out)
	return func() error {
		if _, err := in.Write([]byte(`{"id":1,"call":"test.empty","args":{}}` + "\n")); err != nil {
			return err
		}
		_, err := r.ReadSlice('\n')
		return err
	}
}
