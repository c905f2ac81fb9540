package tensorboard

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

var update = flag.Bool("update", false, "write testdata/events.golden anew; then check it with testdata/read_events.py")

// writeEvents writes the series of the golden file: two steps, killed after the second, which is then done again.
func writeEvents(t *testing.T, dir string) {
	t.Helper()
	for _, session := range []struct {
		keep  int
		steps []int
		value float64
	}{{-1, []int{0, 1, 2}, 1}, {1, []int{2, 3}, 2}} {
		now := time.Date(2026, 1, 2, 12, 0, 0, 500_000_000, time.UTC).Add(time.Duration(session.value) * time.Minute)
		m, err := monitor.Open(monitor.Config{Dir: dir, Open: Open, Keep: session.keep,
			Now: func() time.Time { now = now.Add(time.Second); return now }})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range session.steps {
			m.Add(step, "trainer", monitor.Metrics{"critic/rewards/mean": session.value + float64(step)/10,
				"actor/lr": 5e-4})
			if _, err := m.Commit(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func eventBytes(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "monitor", "tensorboard", "trainer", "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files = %v, %v, want one per session", files, err)
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// The bytes are those that TensorBoard has read (testdata/read_events.py).
func TestTensorBoardBytes(t *testing.T) {
	dir := t.TempDir()
	writeEvents(t, dir)
	got := eventBytes(t, dir)
	golden := filepath.Join("testdata", "events.golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes differ from the %d of %s; if that is meant, use -update and check with TensorBoard",
			len(got), len(want), golden)
	}
}

// What TensorBoard printed for the golden: the redone step stands once, with its new value.
func TestTensorBoardReading(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "events.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read map[string][][3]float64
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	var steps, values []float64
	for _, e := range read["critic/rewards/mean"] {
		steps, values = append(steps, e[1]), append(values, float64(float32(e[2])))
	}
	want := []float64{float64(float32(1)), float64(float32(1.1)), float64(float32(2.2)), float64(float32(2.3))}
	if !reflect.DeepEqual(steps, []float64{0, 1, 2, 3}) || !reflect.DeepEqual(values, want) {
		t.Errorf("TensorBoard read steps %v with values %v", steps, values)
	}
}

func TestMaskedCRC(t *testing.T) {
	// RFC 3720 B.4: crc32c of 32 zero bytes is 0x8a9136aa; masked as TFRecord does.
	const crc = uint32(0x8a9136aa)
	if got, want := maskedCRC(make([]byte, 32)), bits.RotateLeft32(crc, -15)+0xa282ead8; got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
}
