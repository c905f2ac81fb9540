package rollout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNeedle(t *testing.T) {
	for _, c := range []struct {
		text, in string
		want     bool
	}{
		{"boxes", "Three BoXes", true}, {"boxes", "boxe", false}, {"z", "Z", true}, {"-", "a-b", true},
		{"a-b", "A-B", true}, {"a-b", "a-", false}, {"[k", "{K", false}, {"@", "`", false}, {"zoo", "zzoo", true},
		{"`a", "@a", false}, {"x", "", false},
	} {
		n := needleOf([]byte(c.text))
		if got := n.in([]byte(c.in)); got != c.want {
			t.Errorf("%q is in %q: %v", c.text, c.in, got)
		}
	}
}

func FuzzNeedle(f *testing.F) {
	f.Add("needle", []byte("a NEEDLE in the haystack"))
	f.Add("a", []byte("\xff"))
	f.Fuzz(func(t *testing.T, text string, in []byte) {
		if text == "" || !ascii(text) {
			return
		}
		text = strings.ToLower(text)
		var lower []byte
		for _, c := range in {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower = append(lower, c)
		}
		n := needleOf([]byte(text))
		if got, want := n.in(in), bytes.Contains(lower, []byte(text)); got != want {
			t.Errorf("%q is in %q: %v, want %v", text, in, got, want)
		}
	})
}

// BenchmarkSearch looks for a text that no record has, in files of records as long as those of make bench-studio.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("seven of the boxes are left on monday so we add three apples and subtract twelve from it")
	numbers := repeated("-0.0123456", 700)
	total := int64(0)
	for n := range 20 {
		var text strings.Builder
		for i := range 200 {
			fmt.Fprintf(&text, `{"v":2,"id":"%d/%d/%d/0/a","prompt":"Problem %d: how many apples?","response":"`, n,
				i/8, i%8, i)
			for range 400 {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			fmt.Fprintf(&text, `","reward":1,"logprobs":[%s]}`+"\n", numbers)
		}
		total += int64(text.Len())
		name := filepath.Join(dir, fmt.Sprintf("step_%06d.jsonl", n))
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	x := NewIndex(Dir(dir))
	if err := x.Refresh(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	t := x.Table()
	list := t.Select(&Filter{})
	for _, text := range []string{"needle-in-the-haystack", "Needle", "the boxes of"} {
		b.Run(text, func(b *testing.B) {
			b.SetBytes(total)
			for b.Loop() {
				found := t.Search(b.Context(), Dir(dir), list, TextMatch(text), 0, time.Now().Add(time.Hour))
				if !found.Done || text[0] != 't' && len(found.Places) != 0 {
					b.Fatal("something was found")
				}
			}
		})
	}
}
