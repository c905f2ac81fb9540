package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// TestParquetGolden compares files that Python wrote (testdata/parquet.py) with their rows as JSON lines: in order,
// from the back, and jumping, with pages of both versions.
func TestParquetGolden(t *testing.T) {
	want := open(t, "testdata/nested.jsonl", "", "")
	for _, name := range []string{"nested.parquet", "pages_v2.parquet"} {
		t.Run(name, func(t *testing.T) {
			order := map[string]func(i int) int{
				"forwards":  func(i int) int { return i },
				"backwards": func(i int) int { return want.Len() - 1 - i },
				"jumping":   func(i int) int { return i * 131 % want.Len() },
			}
			for way, at := range order {
				s := open(t, filepath.Join("testdata", name), "", "")
				if s.Len() != want.Len() {
					t.Fatalf("%d rows, want %d", s.Len(), want.Len())
				}
				for i := range s.Len() {
					equalRow(t, s, want, at(i))
				}
				if t.Failed() {
					t.Fatal(way)
				}
			}
		})
	}
}

func equalRow(t *testing.T, s, want *Source, i int) {
	t.Helper()
	got, err := s.Row(i)
	if err != nil {
		t.Fatal(err)
	}
	w, err := want.Row(i)
	if err != nil {
		t.Fatal(err)
	}
	for j, f := range w {
		if j >= len(got) || got[j].Key != f.Key || !sameValue(got[j].Value, f.Value) {
			g, _ := text(got)
			t.Fatalf("row %d: %s is wrong, want %v, in\n%s", i, f.Key, f.Value, g)
		}
	}
}

// sameValue compares values; numbers by what they are, as Python and Go may write an exponent differently.
func sameValue(a, b any) bool {
	x, ok := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok && ok2 {
		if !strings.ContainsAny(string(x), ".e") {
			return x == y
		}
		f, err := x.Float64()
		g, err2 := y.Float64()
		return err == nil && err2 == nil && f == g && strings.ContainsAny(string(y), ".e")
	}
	if l, ok := a.([]any); ok {
		m, ok := b.([]any)
		return ok && slices.EqualFunc(l, m, sameValue)
	}
	if r, ok := a.(Row); ok {
		q, ok := b.(Row)
		return ok && slices.EqualFunc(
			r, q, func(f, g Field) bool { return f.Key == g.Key && sameValue(f.Value, g.Value) })
	}
	return reflect.DeepEqual(a, b)
}

// A parquet row is a task and a conversation as any other.
func TestParquetTask(t *testing.T) {
	s := open(t, "testdata/nested.parquet", "", "")
	f := Format{Section: "taskset.format", PromptKey: "question", ResponseKey: "answer", MessagesKey: "messages"}
	task, err := f.Task(s, Item{Index: 256})
	if err != nil || task.Prompt != "What is 256 + 256?What is 256 + 256?" || task.Truth != "#### 512" {
		t.Errorf("got %q, %q, %v", task.Prompt, task.Truth, err)
	}
	messages, err := f.Messages(s, 2)
	const want = `[role="user";content="2:0 ü";][role="assistant";content="2:1 ü";]`
	if got := rendered(t, messages); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	_, err = Format{Section: "taskset.format", PromptKey: "prompt"}.Task(s, Item{Index: 7})
	wantMessage(t, err, []string{"nested.parquet, row 7", `no column "prompt"`,
		"question, answer, messages, tags, meta", "taskset.format.prompt_key"})
}

// Many readers at once get their rows.
func TestParquetConcurrent(t *testing.T) {
	s, want := open(t, "testdata/pages_v2.parquet", "", ""), open(t, "testdata/nested.jsonl", "", "")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60 {
				at := (g*71 + i*37) % s.Len()
				got, err := s.Row(at)
				if err != nil {
					t.Error(err)
					return
				}
				w, _ := want.Row(at)
				a, _ := got.Get("question")
				if b, _ := w.Get("question"); a != b {
					t.Errorf("row %d: %v, want %v", at, a, b)
				}
			}
		})
	}
	wg.Wait()
}

func TestParquetRefuses(t *testing.T) {
	whole, err := os.ReadFile("testdata/nested.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "short": []byte("PAR1"),
		"text": []byte("{\"a\":1}\n{\"a\":2}\n"), "cut": whole[:len(whole)/2],
		"footer": append(bytes.Clone(whole[:len(whole)-40]), whole[len(whole)-8:]...)} {
		_, err := Open(filepath.Join(folder(t, "train.parquet", string(content)), "train.parquet"), "", "")
		if err == nil || !strings.Contains(err.Error(), "not a parquet file that can be read") ||
			!strings.Contains(err.Error(), "train.parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := 5000; i < len(whole)/2; i++ {
		whole[i] ^= 0x55
	}
	s := open(t, folder(t, "train.parquet", string(whole)), "", "")
	for i := range s.Len() {
		if _, err = s.Row(i); err != nil {
			break
		}
	}
	wantMessage(t, err, []string{"train.parquet, row", "fetch the file again"})
}

// Every compression that data sets come in is read, and others are refused by name.
func TestParquetCompression(t *testing.T) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli,
		&parquet.Zstd, &parquet.Lz4Raw} {
		path := filepath.Join(t.TempDir(), "train.parquet")
		writeParquetWith(t, path, 3000, codec)
		s, err := Open(path, "", "")
		if codec == &parquet.Lz4Raw {
			wantMessage(t, err, []string{"train.parquet", `column "question" is compressed with LZ4_RAW`, "zstd"})
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 2999} {
			row, err := s.Row(i)
			if a, _ := row.Get("answer"); err != nil || a != fmt.Sprintf("#### %d", i) {
				t.Errorf("%v: row %d: %v, %v", codec, i, a, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// question is a row of the data set that every example uses.
type question struct {
	Question string `parquet:"question"`
	Answer   string `parquet:"answer"`
}

// writeParquet writes n rows.
func writeParquet(t testing.TB, path string, n int) {
	t.Helper()
	writeParquetWith(t, path, n, &parquet.Snappy)
}

func writeParquetWith(t testing.TB, path string, n int, codec compress.Codec) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[question](f, parquet.Compression(codec))
	batch := make([]question, 0, 1000)
	for i := range n {
		batch = append(batch, question{fmt.Sprintf("Natalia sold clips to %d of her friends in April. How many clips "+
			"did she sell?", i), fmt.Sprintf("#### %d", i)})
		if len(batch) == cap(batch) || i == n-1 {
			if _, err := w.Write(batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// inMemory is a parquet file that no disk has.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// parquetSeeds are small files of each compression, with lists, absent values and a dictionary.
func parquetSeeds(f *testing.F) (all [][]byte) {
	type part struct {
		Text string  `parquet:"text,optional"`
		N    []int64 `parquet:"n,list"`
	}
	type row struct {
		Q     string            `parquet:"q,dict"`
		A     *float64          `parquet:"a,optional"`
		Yes   bool              `parquet:"yes"`
		Parts []part            `parquet:"parts,list"`
		M     map[string]string `parquet:"m,optional"`
	}
	half := 0.5
	rows := []row{{Q: "1+1?", A: &half, Yes: true, Parts: []part{{"x", []int64{1, 2}}, {}},
		M: map[string]string{"k": "v"}}, {Q: "1+1?"}, {Q: "é", Parts: []part{{"", nil}}}}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		for _, version := range []int{1, 2} {
			var b bytes.Buffer
			if err := parquet.Write(&b, rows, parquet.Compression(codec),
				parquet.DataPageVersion(version)); err != nil {
				f.Fatal(err)
			}
			all = append(all, b.Bytes())
		}
	}
	return all
}

// FuzzParquet reads damaged files: errors are fine, panics are not.
func FuzzParquet(f *testing.F) {
	for _, seed := range parquetSeeds(f) {
		if n := readSome(seed); n != 3 {
			f.Fatalf("%d rows of a seed can be read, want 3", n)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { readSome(data) })
}

// readSome reads the first rows and the last one, and counts those that can be read.
func readSome(data []byte) (read int) {
	s, err := newParquet("fuzz.parquet", inMemory{bytes.NewReader(data)}, int64(len(data)))
	if err != nil {
		return 0
	}
	defer s.Close()
	for i := range min(s.Count(), 5) {
		if row, err := s.Row(i); err == nil && row != nil {
			read++
		}
	}
	if n := s.Count(); n > 5 {
		_, _ = s.Row(n - 1)
	}
	return read
}
