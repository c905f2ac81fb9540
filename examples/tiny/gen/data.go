package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A part is a set of problems with number tuples of its own.
type part int

const (
	pretrain part = iota
	train
	test
)

// partOf says which part a tuple of given numbers belongs to: a tuple never
// stands in two parts, whatever the story around it.
func partOf(numbers []int) part {
	h := fnv.New32a()
	for _, n := range numbers {
		h.Write([]byte{byte(n), ','}) // n is at most maxNumber
	}
	switch (h.Sum32() >> 8) % 20 {
	case 0, 1:
		return test
	case 2, 3, 4:
		return train
	}
	return pretrain
}

// problems returns a source of the part's problems, no question twice.
func problems(seed uint64, which part) func() problem {
	r := rand.New(rand.NewPCG(seed, uint64(which)))
	seen := map[string]bool{}
	return func() problem {
		for {
			p := newProblem(r)
			if partOf(p.numbers) == which && !seen[p.question] {
				seen[p.question] = true
				return p
			}
		}
	}
}

const (
	trainRows    = 2000
	testRows     = 300
	pretrainRows = 41_600
	// workedRows of the pretraining solutions, the first, are all worked step
	// by step: there arithmetic is learned. Of the rest workedPercent are
	// worked and the others state the answer only: there the model learns to
	// do either.
	workedRows    = 32_000
	workedPercent = 37
)

// A task is a row of the train and test files, in GSM8K's columns.
type task struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

func (p problem) task() task {
	return task{p.question, fmt.Sprintf("%s\n#### %d", strings.Join(p.prose, "\n"), p.answer())}
}

// A solved is a row of the pretraining file.
type solved struct {
	Question string `json:"question"`
	Response string `json:"response"`
}

// solved is the problem with a correct response, worked or not.
func (p problem) solved(worked bool) solved {
	thought := ""
	if worked {
		thought = p.working()
	}
	return solved{p.question, fmt.Sprintf("<think>%s</think><answer>%d</answer>", thought, p.answer())}
}

// solutions returns a source of pretraining rows, the first of them all worked.
func solutions(seed uint64, first int) func() solved {
	next := problems(seed, pretrain)
	r := rand.New(rand.NewPCG(seed, 1<<32))
	row := 0
	return func() solved {
		row++
		return next().solved(row <= first || r.IntN(100) < workedPercent)
	}
}

// writeData writes train.jsonl and test.jsonl.
func writeData(o options) error {
	for _, f := range []struct {
		name string
		part part
		rows int
	}{{"train.jsonl", train, cmp.Or(o.rows, trainRows)}, {"test.jsonl", test, testRows}} {
		next := problems(o.seed, f.part)
		if err := writeRows(filepath.Join(o.out, f.name), f.rows, func() task { return next().task() }); err != nil {
			return err
		}
	}
	return nil
}

// writePretrain writes the solved problems as train.jsonl.
func writePretrain(o options) error {
	rows := cmp.Or(o.rows, pretrainRows)
	return writeRows(filepath.Join(o.out, "train.jsonl"), rows, solutions(o.seed, workedRows))
}

// writeRows writes n rows as JSON lines.
func writeRows[T any](path string, n int, next func() T) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	w := bufio.NewWriter(f)
	for range n {
		if err = writeRow(w, next()); err != nil {
			break
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("gen: %s: %w", path, err)
	}
	return nil
}

// writeRow writes one row; the tags in it stay readable.
func writeRow(w io.Writer, row any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
