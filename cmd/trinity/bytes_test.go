package main

import (
	"runtime"
	"testing"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1024": 1024, "10B": 10, "4k": 4 << 10, "512MiB": 512 << 20,
		"8G": 8 << 30, "1.5GiB": 3 << 29, "2 TB": 2 << 40} {
		var b byteSize
		if err := b.UnmarshalText([]byte(text)); err != nil || int64(b) != want {
			t.Errorf("%q is %d, %v; want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "1I", "12iB", "nan", "inf", "9e30", "3X", "8GG"} {
		var b byteSize
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d; want an error", text, b)
		}
	}
}

// While all threads compute, goroutines that read requests still get a processor.
func TestSpareProcessors(t *testing.T) {
	n := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(n)
	for threads, want := range map[int]int{0: n, 1: 1, n + 5: n + 5} {
		runtime.GOMAXPROCS(n)
		if got := spareProcessors(threads); got != want || runtime.GOMAXPROCS(0) < max(n, want+spare) {
			t.Errorf("--threads %d: %d compute on %d processors of Go's", threads, got, runtime.GOMAXPROCS(0))
		}
	}
}
