//go:build unix

package reward

import (
	"maps"
	"slices"
	"syscall"
	"testing"
)

const benchSize = 1 << 20 // bytes of the answers that BenchmarkGraders grades

// cpuTime is the processor time of the process, in nanoseconds; other programs on the machine do not count.
func cpuTime(b *testing.B) int64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return use.Utime.Nano() + use.Stime.Nano()
}

// BenchmarkGraders gives the processor time per megabyte of every grader on every shape.
func BenchmarkGraders(b *testing.B) {
	all := graders()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, shape := range slices.Sorted(maps.Keys(shapes())) {
			text := shaped(shapes()[shape], benchSize)
			b.Run(name+"/"+shape, func(b *testing.B) {
				start := cpuTime(b)
				for b.Loop() {
					if err := all[name](Sample{Response: text, Truth: truthFor(name)}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpuTime(b)-start)/1e6/float64(b.N)/(float64(len(text))/(1<<20)), "cpu-ms/MB")
			})
		}
	}
}
