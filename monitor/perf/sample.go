package perf

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/machine"
)

// Sample is what this process used at one time.
type Sample struct {
	Time          float64 `json:"timestamp"`   // seconds since 1970
	CPU           float64 `json:"cpu_percent"` // since the sample before, of one processor
	Memory        float64 `json:"memory_rss_mb"`
	MemoryPercent float64 `json:"memory_percent"`
	GPUs          []any   `json:"gpu_metrics"` // none are used
}

// Watch takes samples until ctx ends.
func Watch(ctx context.Context, every time.Duration) []Sample {
	tick := time.NewTicker(every)
	defer tick.Stop()
	was, used := time.Now(), machine.ProcessorTime()
	list := []Sample{}
	for {
		now, resident := time.Now(), float64(machine.ResidentMemory())
		s := Sample{Time: float64(now.UnixMicro()) / 1e6, Memory: resident / (1 << 20), GPUs: []any{}}
		if total := machine.Memory(); total > 0 {
			s.MemoryPercent = 100 * resident / float64(total)
		}
		if since := now.Sub(was); since > 0 && len(list) > 0 {
			s.CPU = 100 * float64(machine.ProcessorTime()-used) / float64(since)
		}
		was, used = now, machine.ProcessorTime()
		list = append(list, s)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return list
		}
	}
}
