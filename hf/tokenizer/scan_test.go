package tokenizer

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"testing"
)

// FuzzScan holds the scan of vocab and of objects against encoding/json: what
// both accept means the same, and what encoding/json accepts is accepted.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{ "a" : 1 , "\u0120b\\" : 22, "\ud83d\ude42":3}`, `{"a":1,}`, `{"a":1`,
		`{"a" 1}`, "{\"\xda\":0}", "{\"\xda\\n\":0,\"a\":\"\xff\"}", `{,}`, `{"a":[1,{"b":"]"}],"c":"\""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]int32
		c := &cursor{data: data}
		got := make(map[string]int32)
		for _, n := range c.vocab() {
			got[n.name] = n.id
		}
		err := c.end()
		if json.Unmarshal(data, &want) == nil && want != nil && inRange(want) {
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("vocab of %q is %v, %v, want %v", data, got, err, want)
			}
		}
		var object map[string]json.RawMessage
		c = &cursor{data: data}
		var found []byte
		rest := c.cut(map[string]func(){"a": func() { found = c.value() }})
		err = c.end()
		if json.Unmarshal(data, &object) == nil && object != nil {
			if err != nil || string(found) != string(object["a"]) || !json.Valid(rest) {
				t.Errorf("cut(%q) = %q and %q, %v, want %q", data, found, rest, err, object["a"])
			}
		}
	})
}

func inRange(vocab map[string]int32) bool {
	for _, id := range vocab {
		if id > 999_999_999 || id < -999_999_999 {
			return false
		}
	}
	return true
}

func TestScanMerges(t *testing.T) {
	for _, c := range []struct{ data, want, err string }{
		{`[]`, ``, ``},
		{`["a b", ["c","d e"] , "\u0120 x"]`, `a|b;c|d e;Ġ|x;`, ``},
		{`["ab"]`, ``, `merge "ab" has no space between its two parts`},
		{`[["a"]]`, ``, `no ',' at byte 5`},
		{`["a b" "c d"]`, `a|b;`, `no ',' at byte 7`},
		{`["a b"`, `a|b;`, `no ',' at byte 6`},
		{`7`, ``, `no '[' at byte 0`},
	} {
		got := ""
		err := (&cursor{data: []byte(c.data)}).merges(func(left, right []byte) error {
			got += string(left) + "|" + string(right) + ";"
			return nil
		})
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("merges of %s are %q, %v, want %q, %q", c.data, got, err, c.want, c.err)
		}
	}
}

// TestRules holds the hash table against a map, through growth and replacement.
func TestRules(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var empty rules
	if got := empty.get(7); got != none {
		t.Errorf("an empty table has %d for 7", got)
	}
	r, want := newRules(4), make(map[uint64]uint64)
	for i := range uint64(20000) {
		p := pair(rnd.Int32N(200), rnd.Int32N(200))
		r.set(p, i)
		want[p] = i
	}
	for left := range int32(210) {
		for right := range int32(210) {
			p := pair(left, right)
			w, ok := want[p]
			if !ok {
				w = none
			}
			if got := r.get(p); got != w {
				t.Fatalf("get(%d, %d) = %d, want %d", left, right, got, w)
			}
		}
	}
}
