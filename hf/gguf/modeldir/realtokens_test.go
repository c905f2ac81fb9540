package modeldir

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Each line comes back from its ids, at once and in a stream, if the file is such; and what begins a text is what
// llama.cpp puts there.
func TestRealRoundTrip(t *testing.T) {
	if realFile() == "" || realLines() == "" {
		t.Skip("no real file: go run ./bench gguf-tokens FILE.gguf")
	}
	if !returns(t) {
		t.Skip("the vocabulary lacks bytes, or a space is put before texts")
	}
	tok := realTokenizer(t)
	begun, wrong := 0, 0
	lines := readLines(t)
	for _, line := range lines {
		ids := tok.Encode(line.Text, false)
		want := strings.ReplaceAll(line.Text, marker, " ") // SentencePiece cannot tell a marker in a text from a space
		var stream strings.Builder
		d := tok.NewDecoder(false)
		for _, id := range ids {
			stream.WriteString(d.Write(id))
		}
		stream.WriteString(d.Flush())
		if got := tok.Decode(ids, false); got != want || stream.String() != want {
			if wrong++; wrong <= 5 {
				t.Errorf("%.200q comes back as %.200q, in a stream as %.200q", line.Text, got, stream.String())
			}
		}
		if line.Begun != nil {
			begun++
			if got := tok.Encode(line.Text, true); !slices.Equal(got, line.Begun) {
				t.Errorf("%.200q with special tokens is %v, want %v", line.Text, got, line.Begun)
			}
		}
	}
	t.Logf("%s: %d lines come back, %d do not; %d are begun as by llama.cpp", filepath.Base(realFile()),
		len(lines)-wrong, wrong, begun)
	if begun == 0 {
		t.Error("no line says how a text begins")
	}
}

// returns reports whether the file says that a text comes back from its ids: it has SentencePiece's tokens of bytes,
// and puts no space before a text.
func returns(t *testing.T) bool {
	t.Helper()
	f, err := gguf.Open(realFile())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kind, _, err1 := f.Metadata.Text("tokenizer.ggml.model")
	prefix, said, err2 := f.Metadata.Bool("tokenizer.ggml.add_space_prefix")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return kind == sentencePiece && said && !prefix
}

// How fast texts become ids: all the lines as one text, and without a space, which is one word to the models of
// SentencePiece and must not take time that grows faster than it.
func TestRealRate(t *testing.T) {
	if realFile() == "" || realLines() == "" {
		t.Skip("no real file: go run ./bench gguf-tokens FILE.gguf")
	}
	tok := realTokenizer(t)
	var all strings.Builder
	for _, line := range readLines(t) {
		all.WriteString(line.Text + "\n")
	}
	rate := func(what, text string, most time.Duration) {
		ids, took := 0, time.Hour
		for range 7 {
			begun := time.Now()
			ids = len(tok.Encode(text, false))
			took = min(took, time.Since(begun))
		}
		t.Logf("%s: %d bytes, %d ids, %v at best, %.1f MB/s", what, len(text), ids, took.Round(time.Millisecond),
			float64(len(text))/1e6/took.Seconds())
		if took > most {
			t.Errorf("%s took %v, want at most %v", what, took, most)
		}
	}
	whole := all.String()
	solid := strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(whole)
	rate("all lines", whole, 5*time.Second)
	rate("without spaces", solid, 5*time.Second)
	rate("100 kB without spaces", solid[:min(len(solid), 100_000)], time.Second)
	rate("100 kB of one letter", strings.Repeat("a", 100_000), time.Second)
}
