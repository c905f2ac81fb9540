package document

import (
	"strings"
	"testing"
)

// variables is an environment made of NAME=value texts.
func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func nothing() *Node { return &Node{Kind: Mapping} }

func TestScalarText(t *testing.T) {
	for _, s := range []string{"", "a", "3", "1e-6", "yes", "null", "~", "a b", "- a", "a: b", "#x", "${x}", `\`,
		"a\nb\t\"c\"", "é\u2028\x01", "{", "*a", "None", "y"} {
		n, found := Read("t", []byte("x: "+ScalarText(s, true)), nil, variables(), nothing)
		if n == nil {
			t.Errorf("%q is written as %s: %v", s, ScalarText(s, true), found.Err())
			continue
		}
		if got := n.Get("x").Value(); got != s || len(found) > 0 {
			t.Errorf("%q is written as %s and read as %#v; %v", s, ScalarText(s, true), got, found.Err())
		}
	}
}

// Interpolation ends on every text, without a panic and without growing beyond its limits.
func FuzzInterpolate(f *testing.F) {
	for _, s := range []string{"${oc.env:HOME}", "${oc.env:X,${a}}", "${a}${b}", "${oc.decode:${oc.env:HOME}}", `\${x}`,
		"${a[0].b}", "${a.b.c}"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var found Problems
		root := &Node{Kind: Mapping, Fields: []Field{
			{Key: "a", Value: &Node{Text: a, Quoted: true}}, {Key: "b", Value: &Node{Text: b, Quoted: true}},
		}}
		out := interpolate(root, variables("HOME=/home/me", "X=${a}"), nothing, &found)
		if n := len(out.Get("a").Text); n > 1<<20+len(a) {
			t.Errorf("grew to %d characters", n)
		}
	})
}
