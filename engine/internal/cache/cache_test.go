package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

var shape = nn.PageShape{Layers: 1, KVHeads: 1, HeadDim: 2}

func newCache(pages int) *Cache { return New(shape, nn.MemoryShape{}, int64(pages*shape.Floats()*4)) }

func seq(from, n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(from + i)
	}
	return s
}

func TestAllocIsBoundedAndZeroed(t *testing.T) {
	c := newCache(3)
	a := c.Alloc(2, false)
	if c.Limit() != 3 || len(a) != 2 || c.Alloc(2, false) != nil {
		t.Fatalf("limit %d, got %d pages, and two more", c.Limit(), len(a))
	}
	if b := c.Alloc(2, true); len(b) != 2 || c.InUse() != 4 {
		t.Fatalf("forced: %d pages, %d in use", len(b), c.InUse())
	} else {
		c.Release(b)
	}
	a[0].Data[3] = 7
	c.Share(a[:1])
	c.Release(a)
	if c.InUse() != 1 {
		t.Errorf("%d in use, want the shared one", c.InUse())
	}
	c.Release(a[:1])
	for _, p := range c.Alloc(3, false) {
		if slices.Max(p.Data) != 0 {
			t.Error("a page was not zeroed")
		}
	}
}

func TestPrefixes(t *testing.T) {
	c := newCache(10)
	tokens := seq(0, 3*PageLen+5)
	pages := c.Alloc(4, false)
	c.Keep(Scope{Version: 1}, tokens, pages, nil)

	fork := append(seq(0, 2*PageLen), seq(900, 40)...)
	for _, q := range []struct {
		name    string
		version uint64
		tokens  []int32
		want    int
	}{
		{"same", 1, tokens, 3},
		{"other weights", 2, tokens, 0},
		{"fork after two pages", 1, fork, 2},
		{"other beginning", 1, seq(1, 100), 0},
		{"the last token is left out", 1, tokens[:3*PageLen], 2},
		{"short", 1, tokens[:PageLen], 0},
	} {
		got := c.Lookup(Scope{Version: q.version}, q.tokens).Pages
		if len(got) != q.want || !slices.Equal(got, pages[:q.want]) {
			t.Errorf("%s: %d pages, want %d", q.name, len(got), q.want)
		}
		c.Release(got)
	}

	twin := c.Alloc(3, false)
	own := slices.Clone(twin)
	c.Keep(Scope{Version: 1}, tokens[:3*PageLen], twin, nil)
	if !slices.Equal(twin, pages[:3]) || c.InUse() != 4 {
		t.Errorf("equal pages were kept twice: %v, %v, %d in use", twin, own, c.InUse())
	}
	c.Release(twin)
	c.Release(pages)
	if c.InUse() != 3 {
		t.Errorf("%d pages kept, want 3", c.InUse())
	}
	other := c.Alloc(1, false)
	c.Keep(Scope{Version: 2}, tokens[:PageLen], other, nil)
	held := find(c, 1, tokens)
	c.Forget(1)
	if len(find(c, 1, tokens)) != 0 || c.InUse() != 4 {
		t.Errorf("a forgotten version is known, or its pages were taken from their user: %d in use", c.InUse())
	}
	c.Release(held)
	if got := find(c, 2, tokens); c.InUse() != 1 || len(got) != 1 {
		t.Errorf("%d in use, %d pages of the other version; want 1, 1", c.InUse(), len(got))
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := newCache(4)
	keep := func(from, n int) {
		p := c.Alloc(n, false)
		c.Keep(Scope{Version: 1}, seq(from, n*PageLen), p, nil)
		c.Release(p)
	}
	known := func(from, n int) int {
		p := find(c, 1, seq(from, n*PageLen+1))
		c.Release(p)
		return len(p)
	}
	keep(0, 2)
	keep(1000, 2)
	if known(0, 2) != 2 { // and now it is the newer one
		t.Fatal("the first prefix is gone")
	}
	c.Release(c.Alloc(1, false))
	if a, b := known(0, 2), known(1000, 2); a != 2 || b != 1 {
		t.Errorf("%d and %d pages known, want 2 and 1: the end of the older prefix goes first", a, b)
	}
	held := find(c, 1, seq(0, 2*PageLen+1))
	if c.Alloc(3, false) != nil {
		t.Error("a page in use was handed out again")
	}
	c.Release(held)
	if c.Alloc(4, false) == nil || c.InUse() != 4 {
		t.Error("unused prefixes were not evicted")
	}
}

// Compared with a model: the pages in use never exceed the held ones, found contents are those kept, and no page is
// lost. So it is with memories.
func TestRandomUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { randomUse(t, newCache(12)) })
	memory := nn.MemoryShape{Delta: nn.Delta{Keys: 1, Values: 1, KeyDim: 1, ValueDim: 1, Taps: 2}, Layers: 1}
	rapid.Check(t, func(t *rapid.T) { randomUse(t, New(shape, memory, int64(30*shape.Floats()*4))) })
}

// held is a sequence that uses pages and a memory, which is nil of a model without.
type held struct {
	tokens []int32
	pages  []*Page
	memory *nn.Memory
}

// start begins a sequence as a sampler does: what is known, room for the rest, and what it computes is kept. Without
// room there is none.
func start(t *rapid.T, c *Cache, tokens []int32) (l held, ok bool) {
	p := c.Lookup(Scope{Version: 1}, tokens)
	l = held{tokens, p.Pages, p.Memory}
	for i, page := range p.Pages {
		if page.Data[0] != sign(tokens[:(i+1)*PageLen]) {
			t.Fatalf("page %d of another prefix", i)
		}
	}
	if p.Memory != nil && p.Memory.Data[0] != sign(tokens[:len(p.Pages)*PageLen]) {
		t.Fatalf("the memory is not the one after %d pages", len(p.Pages))
	}
	if c.Remembers() && l.memory == nil {
		l.memory = c.Memory(false)
	}
	more := c.Alloc(PagesFor(len(tokens))-len(l.pages), false)
	if more == nil || c.Remembers() && l.memory == nil {
		c.Release(more)
		l.end(c)
		return l, false
	}
	for i, page := range more {
		page.Data[0] = sign(tokens[:min(len(tokens), (len(l.pages)+i+1)*PageLen)])
	}
	l.pages = append(l.pages, more...)
	full := len(tokens) / PageLen * PageLen
	if l.memory != nil {
		l.memory.Data[0] = sign(tokens[:full])
	}
	if full > 0 {
		c.Keep(Scope{Version: 1}, tokens[:full], l.pages, l.memory)
	}
	return l, true
}

func (l held) end(c *Cache) {
	c.Release(l.pages)
	if l.memory != nil {
		c.Forgotten(l.memory)
	}
}

func randomUse(t *rapid.T, c *Cache) {
	var sequences []held
	t.Repeat(map[string]func(*rapid.T){
		"start": func(t *rapid.T) {
			n := rapid.IntRange(1, 3*PageLen).Draw(t, "n")
			tokens := make([]int32, n)
			for i := range tokens {
				tokens[i] = int32(rapid.IntRange(0, 1).Draw(t, "page") * (i / PageLen)) // few different prefixes
			}
			if l, ok := start(t, c, tokens); ok {
				sequences = append(sequences, l)
			}
		},
		"end": func(t *rapid.T) {
			if len(sequences) == 0 {
				t.Skip()
			}
			i := rapid.IntRange(0, len(sequences)-1).Draw(t, "sequence")
			sequences[i].end(c)
			sequences = slices.Delete(sequences, i, i+1)
		},
		"": func(t *rapid.T) {
			pages, memories := map[*Page]bool{}, 0
			for _, l := range sequences {
				for i, p := range l.pages {
					pages[p] = true
					if p.Data[0] != sign(l.tokens[:min(len(l.tokens), (i+1)*PageLen)]) {
						t.Fatalf("a held page changed")
					}
				}
				if l.memory != nil {
					memories++
					if l.memory.Data[0] != sign(l.tokens[:len(l.tokens)/PageLen*PageLen]) {
						t.Fatalf("a held memory changed")
					}
				}
			}
			least := len(pages)
			if memories > 0 {
				least += memories * c.memoryPages()
			}
			if used := c.InUse(); used < least || used > c.Limit() {
				t.Fatalf("%d in use, %d held, limit %d", used, least, c.Limit())
			}
		},
	})
	for _, l := range sequences {
		l.end(c)
	}
	if got := c.Alloc(c.Limit(), false); got == nil {
		t.Fatal("pages were lost")
	}
}

// sign is a number that differs between token sequences.
func sign(tokens []int32) float32 {
	h := float32(len(tokens))
	for i, v := range tokens {
		h += float32(v) * float32(i+1)
	}
	return h
}

func find(c *Cache, version uint64, tokens []int32) []*Page {
	return c.Lookup(Scope{Version: version}, tokens).Pages
}

// A prefix is found in its own room alone, and hits are counted on pages that the same user has asked for.
func TestScopes(t *testing.T) {
	c := newCache(8)
	tokens := seq(0, 3*PageLen)
	alice, bob := Scope{1, "", "alice"}, Scope{1, "", "bob"}
	c.Keep(alice, tokens, c.Alloc(3, false), nil)
	for _, q := range []struct {
		name       string
		s          Scope
		pages, own int
	}{
		{"one's own", alice, 2, 2}, {"another's", bob, 2, 0}, {"another's, again", bob, 2, 2},
		{"another room", Scope{1, "salt", "alice"}, 0, 0}, {"other weights", Scope{2, "", "alice"}, 0, 0},
	} {
		p := c.Lookup(q.s, tokens)
		if len(p.Pages) != q.pages || p.Own != q.own {
			t.Errorf("%s: %d pages, %d of them one's own; want %d and %d", q.name, len(p.Pages), p.Own, q.pages, q.own)
		}
		c.Release(p.Pages)
	}
}
