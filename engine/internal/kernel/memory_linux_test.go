package kernel

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// The memory returns to the system soon after the last panels are unreachable, and not before.
func TestMemoryIsGivenBack(t *testing.T) {
	const N, K = 64, 1 << 20
	before := virtualMiB(t)
	m, err := NewMemory(PanelBytes(N, K, true))
	if err != nil {
		t.Fatal(err)
	}
	p := m.Panels(N, K, true)
	for range 3 {
		runtime.GC()
	}
	if got := virtualMiB(t) - before; got < 100 {
		t.Errorf("128 MiB of panels take %d MiB", got)
	}
	row := make([]float32, K)
	if p.Row(row, 5); row[7] != 0 {
		t.Error("they are not zeros")
	}
	runtime.KeepAlive(p)
	eventually(t, "the memory is given back", func() bool { runtime.GC(); return virtualMiB(t)-before < 100 })
}

// eventually waits until something holds that no event reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func virtualMiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(string(regexp.MustCompile(`VmSize:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
