package gguf

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutate damages a head: bytes, 32-bit and 64-bit numbers with values that readers have stumbled over, cuts, and pieces
// moved from elsewhere.
func mutate(r *rand.Rand, raw []byte) []byte {
	raw = slices.Clone(raw)
	edge := []uint64{0, 1, 2, 8, 9, 12, 31, 32, 33, 63, 64, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 42,
		1 << 60, 1<<61 + 1, 1<<63 - 1, 1 << 63, 1<<64 - 32, 1<<64 - 1}
	for range 1 + r.IntN(4) {
		if len(raw) < 16 {
			return raw
		}
		at := r.IntN(len(raw) - 8)
		switch v := edge[r.IntN(len(edge))]; r.IntN(6) {
		case 0:
			raw[at] ^= byte(1 << r.IntN(8))
		case 1:
			raw[at] = byte(r.Uint32())
		case 2:
			binary.LittleEndian.PutUint32(raw[at:], uint32(v))
		case 3:
			binary.LittleEndian.PutUint64(raw[at:], v)
		case 4:
			raw = raw[:at+r.IntN(8)]
		case 5:
			n := r.IntN(min(64, len(raw)-at))
			copy(raw[at:], raw[r.IntN(len(raw)-n):][:n])
		}
	}
	return raw
}

// 10,000 damaged heads are refused by name, or read: without a panic, and without more memory than the file's size
// explains.
func TestMutations(t *testing.T) {
	var whole [][]byte
	for _, c := range containers(t) {
		whole = append(whole, c.bytes(t))
	}
	slices.SortFunc(whole, bytes.Compare)
	r := rand.New(rand.NewPCG(17, 1))
	refused, slowest, most := 0, time.Duration(0), uint64(0)
	for range 10000 {
		raw := mutate(r, whole[r.IntN(len(whole))])
		before, begun := allocated(), time.Now()
		f, err := Read(bytes.NewReader(raw), int64(len(raw)), "x.gguf")
		slowest, most = max(slowest, time.Since(begun)), max(most, allocated()-before)
		if err != nil {
			refused++
			if !strings.HasPrefix(err.Error(), "gguf: x.gguf: ") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			continue
		}
		for _, tensor := range f.Tensors {
			if tensor.Bytes() > int64(len(raw)) {
				t.Fatalf("tensor %s of an accepted file has %d bytes, and the file %d", tensor.Name, tensor.Bytes(),
					len(raw))
			}
		}
	}
	if refused < 1000 || refused == 10000 {
		t.Errorf("%d of 10000 were refused", refused)
	}
	if most > 1<<20 {
		t.Errorf("a head took %d bytes of memory", most)
	}
	t.Logf("%d of 10000 refused; the slowest took %v, the largest %d bytes of memory", refused, slowest, most)
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
