package numbered

import (
	"strings"
	"testing"
)

func TestRepeated(t *testing.T) {
	r := New[string]("m")
	if n := r.Number(0); n != 1 {
		t.Errorf("the first number is %d", n)
	}
	r.Accept(1, "a")
	r.Accept(4, "d") // requests overtake each other
	r.Accept(2, "b")
	r.Forget(1)
	if r.Next() != 5 || r.Number(0) != 5 || r.Number(3) != 3 {
		t.Errorf("next %d, 0 is %d, 3 is %d", r.Next(), r.Number(0), r.Number(3))
	}
	for _, x := range []struct {
		seq       int64
		sent      string
		found     bool
		wantError string
	}{
		{4, "d", true, ""},
		{3, "c", false, ""},
		{4, "x", true, "seq_id 4 of model m was used for another request; the next free one is 5"},
		{1, "a", false, "request 1 of model m is no longer kept; the next free seq_id is 5"},
	} {
		e, found, err := r.Repeated(x.seq, 2, func(e string) bool { return e == x.sent })
		if found != x.found || (err == nil) != (x.wantError == "") ||
			err != nil && !strings.Contains(err.Error(), x.wantError) {
			t.Errorf("request %d: %q, %v, %v", x.seq, e, found, err)
		}
	}
	r.Reserve(9)
	n := 0
	for seq := range r.All() {
		r.Forget(seq)
		n++
	}
	if r.Next() != 10 || n != 2 {
		t.Errorf("next %d, %d were kept", r.Next(), n)
	}
}
