package modeldir

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// models are small files of each kind, and how long their heads are.
func models(tb testing.TB) (raw [][]byte, heads []int) {
	for _, m := range []gguftest.Model{{Arch: "llama", Type: gguf.Q8_0}, {Arch: "llama", Vocabulary: vocabularyOf(),
		RoPE: llama3()}, {Arch: "qwen2", Tied: true, Type: gguf.BF16}, {Arch: "qwen3", Fused: true, Type: gguf.F16}} {
		b := m.Bytes(tb)
		size := int64(0)
		f, err := gguf.Read(bytes.NewReader(b), int64(len(b)), "m.gguf")
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range f.Tensors {
			size += (t.Bytes() + 31) / 32 * 32
		}
		raw, heads = append(raw, b), append(heads, len(b)-int(size))
	}
	return raw, heads
}

// convert reads a file and makes the contents of its folder, without writing it.
func convert(raw []byte) error {
	f, err := gguf.Read(bytes.NewReader(raw), int64(len(raw)), "x.gguf")
	if err != nil {
		return err
	}
	files, err := plan(context.Background(), f)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := file.write(io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// 2,000 files with damaged heads are refused, or become a folder: without a panic, and in memory that the file's size
// explains.
func TestMutations(t *testing.T) {
	raw, heads := models(t)
	r := rand.New(rand.NewPCG(17, 2))
	const n = 2000
	refused, slowest, most := map[string]int{}, time.Duration(0), uint64(0)
	for range n {
		i := r.IntN(len(raw))
		damaged := damage(r, raw[i], heads[i])
		before, begun := allocated(), time.Now()
		err := convert(damaged)
		slowest, most = max(slowest, time.Since(begun)), max(most, allocated()-before)
		if err != nil {
			refused[firstWord(err)]++
		}
	}
	all := 0
	for _, v := range refused {
		all += v
	}
	if all < n/10 || all == n {
		t.Errorf("%d of %d were refused", all, n)
	}
	if limit := uint64(16 << 20); most > limit {
		t.Errorf("a file of at most %d bytes took %d bytes of memory; the limit is %d", len(raw[0]), most, limit)
	}
	t.Logf("%d of %d refused; the slowest took %v, the largest %d bytes of memory in all", all, n, slowest, most)
}

// damage changes a few places of a head: to numbers at the edges, other bytes, or bytes from elsewhere.
func damage(r *rand.Rand, raw []byte, head int) []byte {
	raw = slices.Clone(raw)
	edge := []uint64{0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 31, 33, 64, 255, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1,
		1 << 40,
		1<<63 - 1, 1<<64 - 1}
	for range 1 + r.IntN(3) {
		at := 24 + r.IntN(head-32)
		switch v := edge[r.IntN(len(edge))]; r.IntN(5) {
		case 0:
			raw[at] ^= byte(1 << r.IntN(8))
		case 1:
			raw[at] = byte(r.Uint32())
		case 2:
			binary.LittleEndian.PutUint32(raw[at:], uint32(v))
		case 3:
			binary.LittleEndian.PutUint64(raw[at:], v)
		case 4:
			n := r.IntN(min(32, head-at))
			copy(raw[at:], raw[r.IntN(head-n):][:n])
		}
	}
	return raw
}

func firstWord(err error) string {
	word, _, _ := strings.Cut(err.Error(), " ")
	return word
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Whatever the bytes, conversion ends with a folder's contents or an error.
func FuzzConvert(f *testing.F) {
	raw, _ := models(f)
	for _, b := range raw {
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = convert(b)
	})
}
