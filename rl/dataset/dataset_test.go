package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// folder writes files, given as name, content, name, content …, and returns their folder.
func folder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, path, subset, split string) *Source {
	t.Helper()
	s, err := Open(path, subset, split)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// column reads one column of all rows.
func column(t testing.TB, s *Source, key string) []string {
	t.Helper()
	var out []string
	for i := range s.Len() {
		row, err := s.Row(i)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := row.Get(key)
		got, err := text(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, got)
	}
	return out
}

func TestLayouts(t *testing.T) {
	const a, b, c = `{"q":"a"}` + "\n", `{"q":"b"}` + "\n", `{"q":"c"}` + "\n"
	tests := []struct {
		name                string
		files               []string
		path, subset, split string
		want                []string
	}{
		{"a file", []string{"x.jsonl", a + b}, "x.jsonl", "", "train", []string{"a", "b"}},
		{"a folder", []string{"train.jsonl", a, "test.jsonl", b}, "", "", "test", []string{"b"}},
		{"no split named", []string{"train.jsonl", a, "test.jsonl", b}, "", "", "", []string{"a"}},
		{"a subset", []string{"main/train.jsonl", a, "other/train.jsonl", b}, "", "other", "train", []string{"b"}},
		{"the default subset", []string{"train.jsonl", a}, "", "default", "train", []string{"a"}},
		{"shards in order", []string{"train-00001-of-00003.jsonl", b, "train-00002-of-00003.jsonl", c,
			"train-00000-of-00003.jsonl", a}, "", "", "train", []string{"a", "b", "c"}},
		{"in data", []string{"data/train-00000-of-00001.jsonl", a, "README.md", "x"}, "", "", "train", []string{"a"}},
		{"train is not training", []string{"train.jsonl", a, "training.jsonl", b, "train-old.jsonl", c}, "", "",
			"train", []string{"a"}},
		{"a JSON array", []string{"train.json", "\n [ {\"q\": \"a\"},\n{\"q\":\"b\"} ,{\"q\":\"c\"}]\n"}, "", "",
			"train", []string{"a", "b", "c"}},
		{"JSON lines called json", []string{"train.json", a + b}, "", "", "train", []string{"a", "b"}},
		{"CSV", []string{"train.csv", "\ufeffq,n\na,1\n\"b, or\n\"\"c\"\"\",2\n"}, "", "", "train",
			[]string{"a", "b, or\n\"c\""}},
		{"blank lines, CRLF and no last newline", []string{"train.jsonl", "\n" + strings.TrimSpace(a) + "\r\n\n  \n" +
			strings.TrimSpace(b)}, "", "", "train", []string{"a", "b"}},
		{"a single file of any name", []string{"gsm8k.jsonl", a}, "", "", "train", []string{"a"}},
		{"a line longer than any buffer", []string{"train.jsonl", `{"x":"` + strings.Repeat("y", 1<<18) + `","q":"a"}` +
			"\n" + b}, "", "", "train", []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, filepath.Join(folder(t, tt.files...), tt.path), tt.subset, tt.split)
			if got := column(t, s, "q"); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		path  string
		split string
		want  []string // all in the message
	}{
		{"no such path", nil, "missing", "train", []string{"missing", "no such file", "train.jsonl"}},
		{"no such split", []string{"train.jsonl", "{}", "test.csv", "a\n1"}, "", "validation",
			[]string{`split "validation"`, "train.jsonl", "test.csv"}},
		{"test does not serve as train", []string{"test.jsonl", "{}"}, "", "train",
			[]string{`split "train"`, "test.jsonl"}},
		{"an empty folder", nil, "", "train", []string{"no data files"}},
		{"no parquet", []string{"train-00000-of-00001.parquet", "PAR1"}, "", "train",
			[]string{"train-00000-of-00001.parquet", "not a parquet file"}},
		{"another kind of file", []string{"train.txt", "x"}, "train.txt", "train",
			[]string{".txt", ".jsonl, .json, .csv, .parquet"}},
		{"an empty file", []string{"train.jsonl", "\n\n"}, "", "train", []string{"no rows", "train.jsonl"}},
		{"an empty array", []string{"train.json", "[]"}, "", "train", []string{"no rows"}},
		{"CSV without records", []string{"train.csv", "a,b\n"}, "", "train", []string{"no rows"}},
		{"an array cut off", []string{"train.json", "[\n{\"a\":1},\n{\"a\""}, "", "train",
			[]string{"train.json:3", "element 1"}},
		{"CSV of uneven records", []string{"train.csv", "a,b\n1,2\n3\n"}, "", "train", []string{"train.csv", "line 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(filepath.Join(folder(t, tt.files...), tt.path), "", tt.split)
			wantMessage(t, err, tt.want)
		})
	}
}

func wantMessage(t *testing.T, err error, parts []string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the message lacks %q:\n%v", p, err)
		}
	}
}

func TestCorruptRow(t *testing.T) {
	s := open(t, folder(t, "train.jsonl", "{\"q\":1}\n\n{\"q\": tru}\n[1]\n{\"q\":1} x\n"), "", "train")
	for i, want := range [][]string{1: {"train.jsonl:3", `{\"q\": tru}`, "mend"}, 2: {"train.jsonl:4", "JSON object"},
		3: {"train.jsonl:5"}} {
		if want != nil {
			_, err := s.Row(i)
			wantMessage(t, err, want)
		}
	}
	if _, err := s.Row(4); err == nil {
		t.Error("row 4 of 4 was read")
	}
}

func TestRowKeepsOrderAndDigits(t *testing.T) {
	const line = `{"z":12345678901234567890.10,"a":{"y":1,"b":[true,null,"x"]},"m":"<é>"}`
	s := open(t, folder(t, "train.jsonl", line), "", "train")
	row, err := s.Row(0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := row.Columns(), []string{"z", "a", "m"}; !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
	if z, _ := row.Get("z"); z != json.Number("12345678901234567890.10") {
		t.Errorf("z is %v", z)
	}
	got, err := text(row)
	if err != nil || got != line {
		t.Errorf("written again: %s, %v, want %s", got, err, line)
	}
}

func read(t *testing.T, r *Reader) [][]int {
	t.Helper()
	var out [][]int
	for {
		items, err := r.Next()
		if err == ErrEnd {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var batch []int
		for _, it := range items {
			batch = append(batch, it.Index)
		}
		out = append(out, batch)
	}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name string
		size int
		plan Plan
		want [][]int
	}{
		{"one epoch, the rest dropped", 5, Plan{BatchSize: 2}, [][]int{{0, 1}, {2, 3}}},
		{"two epochs, wrapping inside a batch", 5, Plan{BatchSize: 2, Epochs: 2},
			[][]int{{0, 1}, {2, 3}, {4, 0}, {1, 2}, {3, 4}}},
		{"steps win over epochs", 3, Plan{BatchSize: 2, Epochs: 9, TotalSteps: 2}, [][]int{{0, 1}, {2, 0}}},
		{"no more steps than the limit", 3, Plan{BatchSize: 2, Epochs: 9, MaxSteps: 2}, [][]int{{0, 1}, {2, 0}}},
		{"a limit makes no epochs", 5, Plan{BatchSize: 2, MaxSteps: 9}, [][]int{{0, 1}, {2, 3}}},
		{"a batch larger than the dataset", 2, Plan{BatchSize: 3, TotalSteps: 2}, [][]int{{0, 1, 0}, {1, 0, 1}}},
		{"eval keeps the rest and goes once", 5, Plan{BatchSize: 2, Epochs: 3, TotalSteps: 9, Selector: "shuffle",
			Eval: true}, [][]int{{0, 1}, {2, 3}, {4}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewReader(tt.size, tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Steps(); got != len(tt.want) {
				t.Errorf("Steps is %d, want %d", got, len(tt.want))
			}
			if got := read(t, r); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	for want, plan := range map[string]Plan{
		"batch size 0":          {},
		"do not fill one batch": {BatchSize: 8},
		`selector "difficulty"`: {BatchSize: 1, Selector: "difficulty"},
		"without replacement":   {BatchSize: 8, TotalSteps: 1, Selector: "random"},
	} {
		_, err := NewReader(5, plan)
		wantMessage(t, err, []string{want})
	}
	_, err := NewReader(0, Plan{BatchSize: 1})
	wantMessage(t, err, []string{"no rows"})
}

// A shuffled epoch has every row once, and no two epochs or seeds have one order.
func TestShuffle(t *testing.T) {
	order := func(seed int64) []int {
		r, err := NewReader(20, Plan{BatchSize: 5, Epochs: 3, Selector: "shuffle", Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(read(t, r)...)
	}
	got := order(1)
	for e := range 3 {
		epoch := slices.Clone(got[e*20 : e*20+20])
		slices.Sort(epoch)
		for i, row := range epoch {
			if i != row {
				t.Fatalf("epoch %d does not have every row once: %v", e, epoch)
			}
		}
	}
	if slices.Equal(got[:20], got[20:40]) || slices.Equal(got[20:40], got[40:]) {
		t.Error("two epochs have the same order")
	}
	if slices.Equal(got, order(2)) || !slices.Equal(got, order(1)) {
		t.Error("the order must depend on the seed and on nothing else")
	}
}

func TestRandom(t *testing.T) {
	r, err := NewReader(6, Plan{BatchSize: 4, TotalSteps: 50, Selector: "random", Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for _, batch := range read(t, r) {
		slices.Sort(batch)
		if len(slices.Compact(slices.Clone(batch))) != 4 {
			t.Errorf("a row twice in a batch: %v", batch)
		}
		for _, row := range batch {
			seen[row]++
		}
	}
	for row := range 6 {
		if seen[row] < 15 {
			t.Errorf("row %d was drawn %d times of about 33", row, seen[row])
		}
	}
}

// Stopping anywhere and continuing from the state gives the batches of an unbroken reading.
func TestResume(t *testing.T) {
	for _, name := range []string{"sequential", "shuffle", "random"} {
		plan := Plan{BatchSize: 3, TotalSteps: 8, Selector: name, Seed: 7}
		whole, err := NewReader(7, plan)
		if err != nil {
			t.Fatal(err)
		}
		var state State
		for {
			want, wantErr := whole.Next()
			part, err := NewReader(7, plan)
			if err != nil {
				t.Fatal(err)
			}
			if err := part.Restore(state); err != nil {
				t.Fatal(err)
			}
			got, gotErr := part.Next()
			if !reflect.DeepEqual(got, want) || gotErr != wantErr {
				t.Fatalf("%s from %v: got %v, want %v", name, state, got, want)
			}
			if state = part.State(); gotErr == ErrEnd {
				break
			}
		}
		if raw, _ := json.Marshal(state); string(raw) != `{"current_index":24}` {
			t.Errorf("%s: the state at the end is %s", name, raw)
		}
	}
}

// The batches that Trinity-RFT 0.6.0's own selector draws with seed 42, over the ends of epochs.
func TestShuffleDrawsWhatUpstreamDraws(t *testing.T) {
	for size, want := range map[int][][]int{
		5: {{4, 2}, {3, 1}, {0, 4}, {1, 2}, {0, 3}, {2, 3}, {0, 4}, {1, 2}},
		4: {{3, 2}, {1, 0}, {1, 2}, {0, 3}, {1, 0}, {2, 3}},
	} {
		s, err := Selectors()["shuffle"](size, Plan{Seed: 42})
		if err != nil {
			t.Fatal(err)
		}
		for i, batch := range want {
			if got := s.Pick(2*i, 2); !slices.Equal(got, batch) {
				t.Errorf("%d rows, batch %d: %v, want %v", size, i, got, batch)
			}
		}
	}
}
