package dataset

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// million asks for what needs hundreds of megabytes of disk and a quiet machine.
var million = flag.Bool("dataset.million", false, "open a million rows of each format within a second (make "+
	"million-rows)")

// A million rows of any format are open, and the first and last are read, within a second.
func TestMillionRows(t *testing.T) {
	if !*million {
		t.Skip("make million-rows")
	}
	const n = 1_000_000
	text := func(head, row, between, tail string) func(t testing.TB, path string) {
		return func(t testing.TB, path string) {
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
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
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	const object = `{"question": "Natalia sold clips to %d of her \"friends\" in April. How many clips did she ` +
		`sell?", "answer": "#### %d"}`
	for name, write := range map[string]func(testing.TB, string){
		"train.jsonl": text("", object, "\n", "\n"),
		"train.json":  text("[\n", object, ",\n", "\n]\n"),
		"train.csv": text("question,answer\n",
			`"Natalia sold clips to %d of her ""friends"", in April. How many clips did she sell?",%d`, "\n", "\n"),
		"train.parquet": func(t testing.TB, path string) { writeParquet(t, path, n) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			write(t, path)
			best := time.Hour
			for range 4 { // the machine's other work is not what is measured
				begin := time.Now()
				s := open(t, path, "", "")
				if s.Len() != n {
					t.Fatalf("%d rows, want %d", s.Len(), n)
				}
				for _, i := range []int{0, n - 1} {
					row, err := s.Row(i)
					if err != nil {
						t.Fatal(err)
					}
					if a, _ := row.Get("answer"); a != fmt.Sprintf("#### %d", i) && a != fmt.Sprint(i) {
						t.Errorf("row %d: answer %v", i, a)
					}
				}
				best = min(best, time.Since(begin))
			}
			t.Logf("open after %v", best.Round(time.Millisecond))
			if best > time.Second {
				t.Errorf("open after %v, want a second at most", best)
			}
		})
	}
}
