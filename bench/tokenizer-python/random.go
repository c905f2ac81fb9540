package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// server is serve.py at work.
type server struct {
	in  io.Writer
	out *bufio.Reader
}

// try encodes random texts with every tokenizer of testdata until the time is over, and compares with Python's ids.
func try(python, corpus string, limit time.Duration, seed uint64) error {
	texts, err := lists(corpus, 1)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(testdata, "*.golden.json"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no tokenizers in %s: %v", testdata, err)
	}
	toks := make([]*tokenizer.Tokenizer, len(paths))
	for i, path := range paths {
		if toks[i], err = tokenizer.Load(strings.Replace(path, ".golden", "", 1)); err != nil {
			return err
		}
	}
	c := exec.Command(python, "bench/tokenizer-python/serve.py")
	c.Stderr = os.Stderr
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err1 != nil || err2 != nil {
		return fmt.Errorf("pipes of serve.py: %v, %v", err1, err2)
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer c.Wait()
	defer in.Close()
	s, r, n := server{in, bufio.NewReader(out)}, rand.New(rand.NewPCG(seed, 0)), 0
	for end := time.Now().Add(limit); time.Now().Before(end); n++ {
		at := r.IntN(len(toks))
		name, text := strings.TrimSuffix(filepath.Base(paths[at]), ".golden.json"), mixed(r, texts)
		want, err := s.encode(name, text)
		if err != nil {
			return err
		}
		if got := toks[at].Encode(text, true); !slices.Equal(got, want) {
			return fmt.Errorf("%s: Encode(%q) = %v, want %v", name, text, got, want)
		}
	}
	fmt.Printf("%d random texts of seed %d have equal ids\n", n, seed)
	return nil
}

// mixed joins pieces of texts, some of them with a character doubled, dropped or replaced.
func mixed(r *rand.Rand, texts [][]byte) string {
	var out []rune
	for range 1 + r.IntN(4) {
		text := []rune(string(texts[r.IntN(len(texts))]))
		from := r.IntN(len(text) + 1)
		piece := slices.Clone(text[from:min(len(text), from+r.IntN(40))])
		if len(piece) > 0 {
			at := r.IntN(len(piece))
			switch other := text[r.IntN(len(text))]; r.IntN(4) {
			case 0:
				piece[at] = other
			case 1:
				piece = slices.Insert(piece, at, piece[at], other)
			case 2:
				piece = slices.Delete(piece, at, at+1)
			}
		}
		out = append(out, piece...)
	}
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError {
			return -1
		}
		return c
	}, string(out))
}

func (s server) encode(name, text string) (ids []int32, err error) {
	question, err := json.Marshal([]string{name, text})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(question, '\n')); err != nil {
		return nil, err
	}
	answer, err := s.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return ids, json.Unmarshal(answer, &ids)
}
