// Command tokenizer-python compares the ids of a large mixed corpus and of random texts with those of Hugging Face's
// tokenizers, and measures load time and rate.
//
// Needs: Python and pip, or PYTHON=python with tokenizers 0.23.3
// Takes: ten minutes
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// testdata has small tokenizers of many kinds.
const testdata = "hf/tokenizer/testdata"

func main() {
	dir := flag.String("dir", "bin/tokenizer-python", "folder of the corpus and of the large tokenizers")
	random := flag.Duration("random", time.Minute, "how long to try random texts")
	seed := flag.Uint64("seed", 1, "of the random texts")
	flag.Parse()
	if err := run(*dir, *random, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "tokenizer-python:", err)
		os.Exit(1)
	}
}

func run(dir string, random time.Duration, seed uint64) error {
	python, err := venv.Python(filepath.Join(dir, "venv"), "tokenizers==0.23.3")
	if err != nil {
		return err
	}
	big := filepath.Join(dir, "big")
	c := exec.Command(python, "bench/tokenizer-python/big.py", big)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("big.py: %w", err)
	}
	if err := compareAll(big); err != nil {
		return err
	}
	if err := rates(big); err != nil {
		return err
	}
	return try(python, filepath.Join(big, "small.bin"), random, seed)
}

// load loads one of the tokenizers that big.py made, or one of testdata.
func load(big, name string) (*tokenizer.Tokenizer, error) {
	if strings.HasPrefix(name, "big-") {
		return tokenizer.Load(filepath.Join(big, name+".json"))
	}
	return tokenizer.Load(filepath.Join(testdata, name+".json"))
}

// compareAll holds every tokenizer against the ids of Hugging Face's.
func compareAll(big string) error {
	paths, err := filepath.Glob(filepath.Join(big, "*.ids"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no ids in %s: %v", big, err)
	}
	bad := 0
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".ids")
		corpus := "small.bin"
		if strings.HasPrefix(name, "big-") {
			corpus = "corpus.bin"
		}
		n, err := compare(big, name, corpus)
		if err != nil {
			return err
		}
		bad += n
	}
	if bad > 0 {
		return fmt.Errorf("%d texts have other ids", bad)
	}
	return nil
}

func compare(big, name, corpus string) (bad int, err error) {
	tok, err := load(big, name)
	if err != nil {
		return 0, err
	}
	texts, err := lists(filepath.Join(big, corpus), 1)
	if err != nil {
		return 0, err
	}
	all, err := lists(filepath.Join(big, name+".ids"), 4)
	if err != nil {
		return 0, err
	}
	tokens := 0
	for i, ids := range all {
		want := make([]int32, len(ids)/4)
		for j := range want {
			want[j] = int32(binary.LittleEndian.Uint32(ids[4*j:]))
		}
		tokens += len(want)
		if got := tok.Encode(string(texts[i]), false); !slices.Equal(got, want) {
			if bad++; bad <= 5 {
				fmt.Printf("%s, text %d: got %q, want %q\n", name, i, spellings(tok, got, want),
					spellings(tok, want, got))
			}
		}
	}
	fmt.Printf("%-12s %d texts, %d ids, %d texts differ\n", name, len(all), tokens, bad)
	return bad, nil
}

// spellings are some tokens of a, from where it begins to differ from b.
func spellings(tok *tokenizer.Tokenizer, a, b []int32) (all []string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	for _, id := range a[at:min(len(a), at+6)] {
		all = append(all, tok.Token(id))
	}
	return all
}

// lists reads a file of counted lists of elements of the given size.
func lists(path string, size int) (all [][]byte, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for len(data) > 0 {
		n := 4 + size*int(binary.LittleEndian.Uint32(data))
		all = append(all, data[4:n])
		data = data[n:]
	}
	return all, nil
}

// rates prints the shortest of five times to load each large tokenizer and to encode the corpus.
func rates(big string) error {
	texts, err := lists(filepath.Join(big, "corpus.bin"), 1)
	if err != nil {
		return err
	}
	for _, name := range []string{"big-qwen2", "big-llama3", "big-gpt2"} {
		loading, encoding, size := time.Hour, time.Hour, 0
		for range 5 {
			start := time.Now()
			tok, err := load(big, name)
			if err != nil {
				return err
			}
			loading = min(loading, time.Since(start))
			start, size = time.Now(), 0
			for _, text := range texts {
				tok.Encode(string(text), false)
				size += len(text)
			}
			encoding = min(encoding, time.Since(start))
		}
		fmt.Printf("%-12s loaded in %v; %.1f MB/s\n", name, loading.Round(time.Millisecond),
			float64(size)/1e6/encoding.Seconds())
	}
	return nil
}
