package plugin_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// emptyReward is a plug-in file with a reward function that does nothing, and one that says what the process computed.
const emptyReward = `import time

from trinity.common.rewards import REWARD_FUNCTIONS, RewardFn


@REWARD_FUNCTIONS.register_module("empty")
class Empty(RewardFn):
    def __init__(self, **kwargs):
        pass

    def __call__(self, response, **kwargs):
        return {"accuracy": 0.0}


@REWARD_FUNCTIONS.register_module("computed")
class Computed(Empty):
    def __call__(self, response, **kwargs):
        return {"seconds": time.process_time()}
`

// BenchmarkReward measures calls of an empty reward function from reward.Func to its scores, JSON included: how long
// one takes alone (p50, p99 in µs), how many pass in a second when 64 wait, and what one computes on either side, which
// does not depend on what else the machine does.
func BenchmarkReward(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty.py"), []byte(emptyReward), 0o644); err != nil {
		b.Fatal(err)
	}
	set, err := plugin.Open(b.Context(), plugin.Options{Dirs: []string{dir}, RewardTimeout: time.Minute, Rewards: 64,
		Python: python.Options{Executable: python.Find("", ""), Processes: 1}})
	if err != nil {
		b.Skip(err)
	}
	defer set.Close()
	grade := set.RewardFuncs()["empty"]
	call := func() error {
		_, err := grade(reward.Sample{Prompt: "What is 2 + 3?", Response: "It is 5.", Truth: "5"})
		return err
	}
	if err := call(); err != nil {
		b.Fatal(err)
	}
	b.Run("alone", func(b *testing.B) {
		times := make([]time.Duration, b.N)
		for i := range times {
			begun := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			times[i] = time.Since(begun)
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2])/1e3, "p50-µs")
		b.ReportMetric(float64(times[len(times)*99/100])/1e3, "p99-µs")
	})
	b.Run("callers=64", func(b *testing.B) {
		python, own := computed(b, set), process(b)
		var left atomic.Int64
		left.Store(int64(b.N))
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				for left.Add(-1) >= 0 {
					if err := call(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		b.ReportMetric((computed(b, set)-python)/float64(b.N)*1e6, "python-cpu-µs")
		b.ReportMetric((process(b)-own)/float64(b.N)*1e6, "go-cpu-µs")
	})
}

// computed is the time in seconds that Python computed so far.
func computed(b *testing.B, set *plugin.Set) float64 {
	scores, err := set.RewardFuncs()["computed"](reward.Sample{})
	if err != nil {
		b.Fatal(err)
	}
	return scores[0].Value
}

// process is the time in seconds that this process computed so far.
func process(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
