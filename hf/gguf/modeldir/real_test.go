package modeldir

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// realFile is a GGUF file, realJSON where to write its tokenizer.json, and realLines has lines as llama.cpp tokenises
// them with it. bench/gguf and bench/gguf-tokens name them in the environment: the vocabulary of a file whose model is
// not read is not public.
func realFile() string  { return os.Getenv("TRINITY_TEST_GGUF") }
func realJSON() string  { return os.Getenv("TRINITY_TEST_GGUF_JSON") }
func realLines() string { return os.Getenv("TRINITY_TEST_GGUF_LINES") }

// realLine is a line of realLines.
type realLine struct {
	Text  string
	IDs   []int32
	HF    []int32 // of Hugging Face's tokenizers, if they are others
	Begun []int32 // with what llama.cpp puts in front of a text; some lines have it
}

func readLines(t *testing.T) (all []realLine) {
	t.Helper()
	f, err := os.Open(realLines())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var line realLine
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Lines are tokenised as llama.cpp does, with special tokens found in them. bench/gguf runs it on a real model's file.
// Where llama.cpp's own matching of patterns differs from Hugging Face's, a line has the latter's ids too, and ours
// must be those.
func TestRealLines(t *testing.T) {
	if realFile() == "" || realLines() == "" {
		t.Skip("no real file: go run ./bench gguf FILE.gguf")
	}
	tok := realTokenizer(t)
	lines, tokens, odd, wrong := 0, 0, 0, 0
	for _, line := range readLines(t) {
		lines++
		tokens += len(line.IDs)
		got := tok.Encode(line.Text, false)
		if slices.Equal(got, line.IDs) {
			continue
		}
		odd++
		if !slices.Equal(got, line.HF) {
			wrong++
		}
		if odd <= 5 {
			t.Logf("%.200q\n\tours      %q\n\tllama.cpp %q", line.Text, spelt(tok, got, line.IDs),
				spelt(tok, line.IDs, got))
		}
	}
	t.Logf("%s: %d lines, %d tokens; %d lines differ from llama.cpp's, and of these %d from Hugging Face's",
		filepath.Base(realFile()), lines, tokens, odd, wrong)
	if lines < 10000 || wrong > 0 {
		t.Errorf("%d of %d lines differ; none of at least 10,000 may", wrong, lines)
	}
}

// The tokenizer.json of a file, for Hugging Face's library.
func TestRealTokenizer(t *testing.T) {
	if realFile() == "" || realJSON() == "" {
		t.Skip("no real file: go run ./bench gguf FILE.gguf")
	}
	if err := os.WriteFile(realJSON(), realTokenizerJSON(t), 0o644); err != nil {
		t.Fatal(err)
	}
}

// realTokenizer makes the tokenizer of the file.
func realTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Parse(realTokenizerJSON(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func realTokenizerJSON(t *testing.T) []byte {
	t.Helper()
	f, err := gguf.Open(realFile())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := readVocabulary(f.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := v.files()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// spelt are the tokens where a begins to differ from b.
func spelt(tok *tokenizer.Tokenizer, a, b []int32) (names []string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	for _, id := range a[at:min(len(a), at+8)] {
		names = append(names, tok.Token(id))
	}
	return names
}

// A real file becomes a folder in memory that does not grow with it.
func TestRealMemory(t *testing.T) {
	if realFile() == "" {
		t.Skip("no real file: go run ./bench gguf FILE.gguf")
	}
	f, err := gguf.Open(realFile())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, begun := t.TempDir(), time.Now()
	var most atomic.Uint64
	done := make(chan struct{})
	go func() { // looks every millisecond
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapInuse))
			}
		}
	}()
	err = Write(f, dir)
	close(done)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of weights in %v; at most %d bytes of memory", st.Size(),
		time.Since(begun).Round(time.Millisecond),
		most.Load())
	if limit := uint64(256 << 20); most.Load() > limit {
		t.Errorf("it took %d bytes of memory; the limit is %d", most.Load(), limit)
	}
}
