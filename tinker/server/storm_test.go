package server

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

var storm = flag.Int("server.storm", 64, "samples, and as many forward_backwards, outstanding at once; 2048 for the full storm")

// TestStorm sends as many samples as training requests without waiting for any, and then fetches every result.
func TestStorm(t *testing.T) {
	r := newRig(t, Options{})
	r.web.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 256
	session := r.session()
	const runs = 8
	var models [runs]string
	for i := range models {
		models[i] = r.model(session, int64(i))
	}
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	trained, drawn := make([]string, *storm), make([]string, *storm)
	start := time.Now()
	parallel(64, *storm, func(i int) {
		drawn[i] = r.promise("/asample", asample(sampler, int64(i), map[string]any{"sampling_params": map[string]any{"max_tokens": 8, "seed": i % 4}}))
		trained[i] = r.promise("/forward_backward", batch(models[i%runs], int64(i/runs+1), true))
	})
	accepted := time.Since(start)
	var mu sync.Mutex
	seen, batches := map[string]bool{}, map[string]bool{}
	parallel(512, *storm, func(i int) {
		out := fmt.Sprint(r.samples(drawn[i]).Sequences)
		logprobs := bits(r.output(trained[i]))
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprint(i%4, out)] = true
		batches[fmt.Sprint((i/runs+1)%100, logprobs)] = true
	})
	if want := min(100, *storm/runs); len(seen) != 4 || len(batches) != want {
		t.Errorf("4 seeds gave %d different answers, %d batches %d", len(seen), want, len(batches))
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%d + %d requests: accepted in %v, answered in %v, heap %d MiB", *storm, *storm, accepted, time.Since(start), mem.HeapSys>>20)
}

// parallel calls f for 0 to n-1 on some goroutines.
func parallel(workers, n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// BenchmarkDurableStep is the round trip of one durable training request of 7 tokens: submit, wait, fetch. It reports the
// medians, and that of one fsync of the same folder's disk.
func BenchmarkDurableStep(b *testing.B) {
	r := newRig(b, Options{})
	m := r.model(r.session(), 0)
	var took []time.Duration
	seq := int64(0)
	for b.Loop() {
		seq++
		start := time.Now()
		r.output(r.promise("/forward_backward", batch(m, seq, true)))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(fsyncMedian(b, r.dir).Microseconds()), "fsync-p50-µs")
}

func fsyncMedian(b *testing.B, dir string) time.Duration {
	f, err := disk.OS().Append(dir + "/probe")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	for range 200 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 512)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
