package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNeedle(t *testing.T) {
	for _, c := range []struct {
		text, in string
		want     bool
	}{
		{"boxes", "Three BoXes", true}, {"boxes", "boxe", false}, {"z", "Z", true}, {"-", "a-b", true},
		{"a-b", "A-B", true}, {"a-b", "a-", false}, {"[k", "{K", false}, {"@", "`", false}, {"zoo", "zzoo", true},
		{"`a", "@a", false}, {"x", "", false}, {"größer", "ist GRÖSSER", false}, {"größer", "ist GRÖẞER", true},
		{"ответ", "Ответ: 7", true}, {"ответ", "отве", false}, {"答案是", "答案是七", true}, {"k", "\u212a", false},
		{"aö", "xöaÖ", true}, {"öa", "\xc3", false},
	} {
		n := needleOf(c.text, true)
		if got := n.in([]byte(c.in)); got != c.want {
			t.Errorf("%q is in %q: %v", c.text, c.in, got)
		}
	}
}

func FuzzNeedle(f *testing.F) {
	f.Add("needle", "a NEEDLE in the haystack")
	f.Add("a", "\xff")
	f.Add("größer", "GRÖẞER")
	f.Fuzz(func(t *testing.T, text, in string) {
		if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			return
		}
		text = strings.Map(lower, text)
		n := needleOf(text, true)
		if got, want := n.in([]byte(in)), strings.Contains(strings.Map(lower, in), text); got != want {
			t.Errorf("%q is in %q: %v, want %v", text, in, got, want)
		}
	})
}

// What the quick look leaves out does not match.
func FuzzMatch(f *testing.F) {
	f.Add("<answer>4</answer>", "it is <answer>4</answer>", false)
	f.Add(`say "so"`, `they SAY "SO" \ / loud`, false)
	f.Add("größe", "GRÖSSE\n\tGRÖẞE", false)
	f.Add("(?i)mask+s", "maſKS", true)
	f.Add(`^a.*(bc|bd)+e{2}`, "axbcbdee", true)
	f.Fuzz(func(t *testing.T, wanted, answer string, pattern bool) {
		m := TextMatch(wanted)
		if pattern {
			var err error
			if m, err = PatternMatch(wanted); err != nil {
				return
			}
		}
		if !utf8.ValidString(answer) || !m.Text(answer) {
			return
		}
		for _, html := range []bool{false, true} {
			var part bytes.Buffer
			enc := json.NewEncoder(&part)
			enc.SetEscapeHTML(html)
			if err := enc.Encode(answer); err != nil {
				t.Fatal(err)
			}
			if !m.raw(part.Bytes()) || !m.part(part.Bytes()) {
				t.Errorf("%q matches %q, and not as JSON: %s", wanted, answer, part.Bytes())
			}
		}
	})
}

// BenchmarkSearch looks for a text that no record has, in files of records as long as those of bench/studio.
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
	for _, text := range []string{"needle-in-the-haystack", "Needle", "the boxes of", "treat on that", "größer"} {
		b.Run(text, func(b *testing.B) {
			b.SetBytes(total)
			for b.Loop() {
				found := t.Search(b.Context(), Dir(dir), list, TextMatch(text), 0, time.Now().Add(time.Hour))
				if !found.Done || text != "the boxes of" && len(found.Places) != 0 {
					b.Fatal("something was found")
				}
			}
		})
	}
}
