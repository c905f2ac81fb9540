package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersion1(t *testing.T) {
	seg, err := Scan(t.Context(), filepath.Join("testdata", "version1.jsonl"), "step_000001.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(seg.Rows) != 3 || seg.Bad != 0 {
		t.Fatalf("%d rows and %d bad lines, want 3 and 0", len(seg.Rows), seg.Bad)
	}
	r := &seg.Rows[1]
	if r.Group != "0" || r.Repeat != 1 || r.Reward != 0.1 || r.Stop != "stop" || r.Prompt != 46 ||
		seg.part(r, "accuracy") != 0 || seg.part(r, "format_score") != 0.1 || !math.IsNaN(seg.part(r, "other")) {
		t.Errorf("the second row is %+v with parts %v", r, seg.Names)
	}
	if seg.Rows[0].Key != seg.Rows[2].Key {
		t.Error("two samples of one task have other keys")
	}
}

func TestDescribeAgreesWithDecode(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "version1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		row, _, err := Describe(line)
		rec, derr := Decode(line)
		if err != nil || derr != nil {
			t.Fatal(err, derr)
		}
		part := line[row.Text.At : row.Text.At+row.Text.Len]
		if int(row.Response) != len(rec.Tokens) || row.Reward != *rec.Reward || ResponseIn(part) != rec.Response {
			t.Errorf("row %+v of record %s, answer %q", row, rec.ID, ResponseIn(part))
		}
	}
}

func TestUnquote(t *testing.T) {
	for _, text := range []string{"", "plain", "a\"b\\c\n\t\u0000", "<&>\u2028", "😀 שלום", "\\", strings.Repeat("\\\"",
		9)} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := unquote(quoted); got != text {
			t.Errorf("%s is %q, want %q", quoted, got, text)
		}
	}
}

func TestFieldsRefuses(t *testing.T) {
	for _, line := range []string{"", "null", "[1]", `{"a":1`, `{"a"}`, `{"a":1}x`, `{"a":"`, `{"a":[1,}`,
		`{"a":{"b":}}`,
		strings.Repeat(`{"a":`, 5000)} {
		if err := Fields([]byte(line), func(_, _ []byte, _ int) {}); err == nil {
			t.Errorf("%.30q is an object", line)
		}
	}
}

func TestLines(t *testing.T) {
	text := "one\n\n" + strings.Repeat("x", 3<<20) + "\nlast, unfinished"
	var got []string
	var ends []int64
	err := Lines(t.Context(), strings.NewReader(text), func(line []byte, at, next int64) {
		got = append(got, string(line))
		ends = append(ends, next)
		if text[at:at+int64(len(line))] != string(line) {
			t.Errorf("a line begins at %d, which has %.10q", at, text[at:])
		}
	})
	if err != nil || len(got) != 3 || got[0] != "one" || len(got[2]) != 3<<20 || ends[2] != int64(5+3<<20+1) {
		t.Errorf("%d lines that end at %v, %v", len(got), ends, err)
	}
}

func TestMask(t *testing.T) {
	for _, mask := range [][]bool{{}, {true, true}, {false}, {true, false, false, true}, {false, true}} {
		r := Record{Mask: MaskOf(mask)}
		if got := r.Trained(len(mask)); !slices.Equal(got, mask) {
			t.Errorf("%v is written as %v and read as %v", mask, r.Mask, got)
		}
	}
	hostile := Record{Mask: []int{-5, 1 << 40, 3}}
	if got := hostile.Trained(2); !slices.Equal(got, []bool{false, false}) {
		t.Errorf("a mask beyond the tokens is read as %v", got)
	}
}

func TestSegments(t *testing.T) {
	a, b := benchSegment(), benchSegment()
	b.File = "step_000002.jsonl"
	data := b.Append(a.Append(nil))
	got := segments(data)
	if len(got) != 2 || !sameSegment(got[0], a) || !sameSegment(got[1], b) {
		t.Fatalf("%d segments, which are not those written", len(got))
	}
	torn := append(append([]byte{}, a.Append(nil)[:500]...), b.Append(nil)...)
	if got := segments(torn); len(got) != 1 || got[0].File != b.File {
		t.Errorf("after a torn frame there are %d segments, want the whole one", len(got))
	}
}

// sameSegment compares with NaN equal to NaN.
func sameSegment(a, b *Segment) bool {
	return bytes.Equal(a.Append(nil), b.Append(nil)) && len(a.Rows) == len(b.Rows) && reflect.DeepEqual(a.Names,
		b.Names)
}

// step writes a step file with rewards, one group of them.
func step(t *testing.T, dir string, n int, rewards ...float64) {
	t.Helper()
	var b strings.Builder
	for i, r := range rewards {
		fmt.Fprintf(&b,
			`{"v":2,"id":"%d/0/%d/0/a","task":"0","prompt":"how many?","response":"answer %d of <step> %d",`+
				`"reward":%g,"stop_reason":"stop","metrics":{},"tokens":[1,2]}`+"\n", n, i, i, n, r)
	}
	path := filepath.Join(dir, fmt.Sprintf("step_%06d.jsonl", n))
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(n) * time.Second) // times are as coarse as the file system's
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestIndexFollowsTheFolder(t *testing.T) {
	dir := t.TempDir()
	folder, notes := filepath.Join(dir, "rollouts"), filepath.Join(dir, Notes)
	x := NewIndex(Dir(folder), notes)
	refresh := func() *Table {
		t.Helper()
		if err := x.Refresh(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return x.Table()
	}
	if got := refresh(); len(got.Files) != 0 {
		t.Fatalf("a folder that is not there has %d files", len(got.Files))
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	step(t, folder, 1, 0, 1)
	step(t, folder, 2, 1, 1)
	table := refresh()
	if len(table.Files) != 2 || !table.Files[0].Signal[0] || table.Files[1].Signal[0] {
		t.Fatalf("the index has %d files, signals %v", len(table.Files), table.Files)
	}
	step(t, folder, 2, 5, 6, 7) // a resumed run writes it again
	if err := os.Remove(filepath.Join(folder, "step_000001.jsonl")); err != nil {
		t.Fatal(err)
	}
	table = refresh()
	if len(table.Files) != 1 || len(table.Files[0].Rows) != 3 {
		t.Fatalf("after a change the index has %d files", len(table.Files))
	}
	again := NewIndex(Dir(folder), notes)
	again.folder = refuses{Dir(folder)}
	if err := again.Refresh(context.Background(), nil); err != nil || len(again.Table().Files[0].Rows) != 3 {
		t.Errorf("the written index is not used: %v", err)
	}
}

// An index file does not grow with each change of a file, and is read in parts.
func TestIndexFileIsBounded(t *testing.T) {
	notes := t.TempDir()
	table := &growing{}
	x := NewIndex(table, notes)
	file := filepath.Join(notes, "studio.idx")
	most, live := int64(0), 0
	for range 60 {
		table.rows += 200
		if err := x.Refresh(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		most, live = max(most, st.Size()), len(x.Table().Files[0].Segment.Append(nil))
	}
	if limit := int64(3*live + smallIndex); most > limit {
		t.Errorf("the index file had %d bytes, and its segment has %d", most, live)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for len(data) < 2*partSize { // as older programs left it, with a frame that is damaged
		data = append(data, data...)
	}
	last := append(frameMark[:len(frameMark):len(frameMark)], "\xff\xff\xff\xff damaged"...)
	last = x.Table().Files[0].Segment.Append(last)
	if err := os.WriteFile(file, append(data, last...), 0o644); err != nil {
		t.Fatal(err)
	}
	again := NewIndex(&growing{rows: table.rows, closed: true}, notes)
	if err := again.Refresh(t.Context(), nil); err != nil || len(again.Table().Files[0].Rows) != table.rows {
		t.Errorf("the written index is not used: %v", err)
	}
}

// growing is a folder with one file, whose size is the number of its rows.
type growing struct {
	Folder
	rows   int
	closed bool
}

func (g *growing) Files() ([]File, error) {
	return []File{{Name: "experiences.db", Size: int64(g.rows), Time: int64(g.rows)}}, nil
}

func (g *growing) Scan(_ context.Context, f File) (*Segment, error) {
	if g.closed {
		return nil, os.ErrPermission
	}
	return &Segment{File: f.Name, Size: f.Size, Time: f.Time, Rows: make([]Row, g.rows)}, nil
}

// refuses is a folder whose files must not be read.
type refuses struct{ Dir }

func (refuses) Scan(context.Context, File) (*Segment, error) { return nil, os.ErrPermission }

func TestIndexWithNowhereToWrite(t *testing.T) {
	dir := t.TempDir()
	step(t, dir, 1, 0, 1)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	x := NewIndex(Dir(dir), filepath.Join(file, "below"), cache)
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cache, "studio.idx")); err != nil {
		t.Error("the index is not in the second folder:", err)
	}
}

func TestSelectSearchSort(t *testing.T) {
	dir := t.TempDir()
	for n := 1; n <= 40; n++ {
		step(t, dir, n, float64(n), 0, 2)
	}
	x := NewIndex(Dir(dir))
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	table := x.Table()
	most := 2.0
	list := table.Select(&Filter{Steps: []int{3, 4}, RewardMax: &most, Closed: true})
	if len(list) != 4 {
		t.Errorf("%d rows with reward up to 2, want 4", len(list))
	}
	all := table.Select(&Filter{})
	if !table.Sort(all, "-reward") || table.Sort(all, "nothing") {
		t.Error("a field is not known, or one that is none is")
	}
	if _, r := table.At(all[0]); r.Reward != 40 {
		t.Errorf("the first reward downwards is %g", r.Reward)
	}
	soon := time.Now().Add(time.Minute)
	for text, want := range map[string]int{"ANSWER 1": 0, "answer 1": 40, "of <step> 17": 3, "how MANY": 0,
		"nowhere": 0} {
		if got := table.Search(t.Context(), Dir(dir), all, TextMatch(text), 0, soon); len(got.Places) != want ||
			!got.Done {
			t.Errorf("%q is in %d rows, want %d", text, len(got.Places), want)
		}
	}
	for pattern, want := range map[string]int{`answer [12] of`: 80, `^how`: 120, `step. 4\d?$`: 6, `(?i)ANSWER 2`: 40} {
		m, err := PatternMatch(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := table.Search(t.Context(), Dir(dir), all, m, 0, soon)
		if len(got.Places) != want {
			t.Errorf("%q matches %d rows, want %d", pattern, len(got.Places), want)
		}
	}
	var parts []Place // a search in parts finds what a whole one does
	for rest := all; len(rest) > 0; {
		found := table.Search(t.Context(), Dir(dir), rest, TextMatch("answer 1"), 7, soon)
		parts, rest = append(parts, found.Places...), rest[found.Scanned:]
	}
	if len(parts) != 40 {
		t.Errorf("a search in parts finds %d rows, want 40", len(parts))
	}
}

func TestSplit(t *testing.T) {
	for _, prompt := range []string{"<|im_start|>system\nbe " +
		"brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
		"<|start_header_id|>system<|end_header_id|>\n\nbe " +
			"brief<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>"} {
		got := split(prompt)
		if len(got) < 2 || got[0].Content != "be brief" || got[1].Role != "user" || got[1].Content != "hi" {
			t.Errorf("%q is split into %+v", prompt, got)
		}
	}
	if split("plain") != nil {
		t.Error("a text without marks has messages")
	}
}

func FuzzDescribe(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "version1.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.SplitN(data, []byte("\n"), 2)[0])
	f.Add([]byte(`{"id":"a\u0000\ud800/b/1/2/3","prompt":"\"","response":"\\","metrics":{"a":[{}]},"tokens":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		row, _, err := Describe(line)
		if err != nil {
			return
		}
		if row.Text.At < 0 || int(row.Text.At)+int(row.Text.Len) > len(line) {
			t.Fatalf("the text of %q is at %+v", line, row.Text)
		}
		part := line[row.Text.At : row.Text.At+row.Text.Len]
		ResponseIn(part)
		TextMatch("a").part(part)
	})
}

func FuzzSegments(f *testing.F) {
	f.Add(benchSegment().Append(nil))
	f.Add([]byte("\xf5TRX1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range segments(data) {
			if got := segments(s.Append(nil)); len(got) != 1 || !sameSegment(got[0], s) {
				t.Fatal("a segment that was read is not what is written of it")
			}
		}
		if n := whole(data); n > len(data) {
			t.Fatalf("%d bytes of %d are whole", n, len(data))
		}
	})
}
