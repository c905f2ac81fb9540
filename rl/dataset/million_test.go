package dataset

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkMillionRows opens a million rows of each format and reads the first and the last.
func BenchmarkMillionRows(b *testing.B) {
	const n = 1_000_000
	text := func(head, row, between, tail string) func(path string) error {
		return func(path string) error { return writeRows(path, n, head, row, between, tail) }
	}
	const object = `{"question": "Natalia sold clips to %d of her \"friends\" in April. How many clips did she ` +
		`sell?", "answer": "#### %d"}`
	for name, write := range map[string]func(string) error{
		"train.jsonl": text("", object, "\n", "\n"),
		"train.json":  text("[\n", object, ",\n", "\n]\n"),
		"train.csv": text("question,answer\n",
			`"Natalia sold clips to %d of her ""friends"", in April. How many clips did she sell?",%d`, "\n", "\n"),
		"train.parquet": func(path string) error { writeParquet(b, path, n); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), name)
			if err := write(path); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ends(b, open(b, path, "", ""), n)
			}
		})
	}
}

// writeRows writes n rows, into which their numbers are put.
func writeRows(path string, n int, head, row, between, tail string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprint(w, head)
	for i := range n {
		if i > 0 {
			w.WriteString(between)
		}
		fmt.Fprintf(w, row, i, i)
	}
	fmt.Fprint(w, tail)
	return w.Flush()
}

// ends reads the first and the last of n rows.
func ends(b *testing.B, s *Source, n int) {
	if s.Len() != n {
		b.Fatalf("%d rows, want %d", s.Len(), n)
	}
	for _, i := range []int{0, n - 1} {
		row, err := s.Row(i)
		if err != nil {
			b.Fatal(err)
		}
		if a, _ := row.Get("answer"); a != fmt.Sprintf("#### %d", i) && a != fmt.Sprint(i) {
			b.Errorf("row %d: answer %v", i, a)
		}
	}
}
