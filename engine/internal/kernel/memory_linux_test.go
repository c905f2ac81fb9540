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
	for range 200 {
		runtime.GC()
		if virtualMiB(t)-before < 100 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d MiB are still there", virtualMiB(t)-before)
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
