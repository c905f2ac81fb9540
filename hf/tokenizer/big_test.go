//go:build unix

package tokenizer

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bigDir is what testdata/big.py made; testdata/python.sh does both.
var bigDir = flag.String("tokenizer.big", "", "the folder made by testdata/big.py")

// lists reads a file of counted lists of elements of the given size.
func lists(tb testing.TB, name string, size int) (all [][]byte) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(*bigDir, name))
	if err != nil {
		tb.Fatal(err)
	}
	for len(data) > 0 {
		n := 4 + size*int(binary.LittleEndian.Uint32(data))
		all = append(all, data[4:n])
		data = data[n:]
	}
	return all
}

func corpus(tb testing.TB, name string) (all []string) {
	for _, piece := range lists(tb, name, 1) {
		all = append(all, string(piece))
	}
	return all
}

// loadBig loads one of the tokenizers that big.py made, or one of testdata.
func loadBig(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	if !strings.HasPrefix(name, "big-") {
		return load(tb, name)
	}
	tok, err := Load(filepath.Join(*bigDir, name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// TestBig holds the ids of a large mixed corpus against those of Hugging Face
// tokenizers, with tokenizers of full size and with those of testdata.
func TestBig(t *testing.T) {
	if *bigDir == "" {
		t.Skip("run testdata/python.sh")
	}
	paths, err := filepath.Glob(filepath.Join(*bigDir, "*.ids"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no ids in %s: %v", *bigDir, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".ids")
		t.Run(name, func(t *testing.T) {
			tok := loadBig(t, name)
			pieces := corpus(t, "small.bin")
			if strings.HasPrefix(name, "big-") {
				pieces = corpus(t, "corpus.bin")
			}
			bad := 0
			for i, ids := range lists(t, name+".ids", 4) {
				got := tok.Encode(pieces[i], false)
				want := make([]int32, len(ids)/4)
				for j := range want {
					want[j] = int32(binary.LittleEndian.Uint32(ids[4*j:]))
				}
				if at := differ(got, want); at >= 0 && bad < 5 {
					bad++
					from := max(0, at-2)
					t.Errorf("piece %d differs at token %d: got %q, want %q", i, at,
						spellings(tok, got[from:min(len(got), at+4)]), spellings(tok, want[from:min(len(want), at+4)]))
				}
			}
		})
	}
}

// differ returns the first place where a and b differ, -1 if there is none.
func differ(a, b []int32) int {
	if slices.Equal(a, b) {
		return -1
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at
}

// cpuTime is what this process has used; other work on the machine does not
// show in it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBigLoad bounds the processor time to load a file of the size of Llama 3's.
func TestBigLoad(t *testing.T) {
	if *bigDir == "" {
		t.Skip("run testdata/python.sh")
	}
	best := time.Hour
	for range 5 {
		runtime.GC()
		start := cpuTime()
		loadBig(t, "big-llama3")
		best = min(best, cpuTime()-start)
	}
	t.Logf("loaded in %v", best)
	if best > 300*time.Millisecond {
		t.Errorf("loading takes %v, want at most 0.3 s", best)
	}
}

// BenchmarkBig encodes the large corpus with tokenizers of full size.
func BenchmarkBig(b *testing.B) {
	if *bigDir == "" {
		b.Skip("run testdata/python.sh")
	}
	pieces := corpus(b, "corpus.bin")
	size := len(strings.Join(pieces, ""))
	for _, name := range []string{"big-qwen2", "big-llama3", "big-gpt2"} {
		tok := loadBig(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			start := cpuTime()
			for b.Loop() {
				for _, piece := range pieces {
					tok.Encode(piece, false)
				}
			}
			b.ReportMetric(float64(b.N*size)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
		})
	}
}

// BenchmarkBigLoad loads files of full size.
func BenchmarkBigLoad(b *testing.B) {
	if *bigDir == "" {
		b.Skip("run testdata/python.sh")
	}
	for _, name := range []string{"big-qwen2", "big-llama3", "big-gpt2"} {
		b.Run(name, func(b *testing.B) {
			start := cpuTime()
			for b.Loop() {
				loadBig(b, name)
			}
			b.ReportMetric(1e3*(cpuTime()-start).Seconds()/float64(b.N), "cpu-ms/op")
		})
	}
}
