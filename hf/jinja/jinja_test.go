package jinja

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// now is the clock of the goldens.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// cases reads a file of testdata, a JSON list of objects.
func cases(tb testing.TB, file string) (all []*Map) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range v.(List) {
		all = append(all, c.(*Map))
	}
	return all
}

// str returns a member of a case, "" if it is not there.
func str(c *Map, key string) string {
	v, _ := c.Get(key)
	s, _ := v.(string)
	return s
}

// source returns the template of a case, which may be in a file.
func source(tb testing.TB, c *Map) string {
	tb.Helper()
	file := str(c, "file")
	if file == "" {
		return str(c, "template") + str(c, "tmpl")
	}
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func render(src string, ctx *Map) (Result, error) {
	t, err := Parse(src)
	if err != nil {
		return Result{}, err
	}
	return t.Render(ctx, Options{Now: now(), MaxSteps: 1e6, MaxOutput: 1 << 20})
}

// TestGolden renders what transformers with Jinja2 rendered: features.json, and
// render.json of testdata/make.py.
func TestGolden(t *testing.T) {
	for _, file := range []string{"features.json", "render.json"} {
		for _, c := range cases(t, file) {
			t.Run(str(c, "name"), func(t *testing.T) {
				ctx, _ := c.Get("ctx")
				got, err := render(source(t, c), ctx.(*Map))
				wantErr := str(c, "err") + str(c, "error")
				if (err != nil) != (wantErr != "") {
					t.Fatalf("error %v, want %q", err, wantErr)
				}
				if err != nil {
					var e *Error
					if !errors.As(err, &e) || e.Line < 1 {
						t.Errorf("error %v has no line", err)
					}
					return
				}
				if want := str(c, "out"); got.Text != want {
					t.Errorf("got  %q\nwant %q", got.Text, want)
				}
				if spans, ok := c.Get("spans"); ok {
					checkSpans(t, got.Generations, spans.(List))
				} else if len(got.Generations) > 0 && file == "render.json" {
					t.Errorf("spans %v, want none", got.Generations)
				}
			})
		}
	}
}

func checkSpans(t *testing.T, got []Span, want List) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("spans %v, want %v", got, want)
	}
	for i, w := range want {
		pair := w.(List)
		if int64(got[i].Start) != pair[0] || int64(got[i].End) != pair[1] {
			t.Errorf("span %d is %v, want %v", i, got[i], pair)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a\n{{ raise_exception('boom') }}", "jinja: line 2: boom"},
		{"\n\n{{ missing.x }}", "jinja: line 3: 'missing' is undefined"},
		{"{{ x }}\n{% foo %}", "jinja: line 2: unknown tag 'foo'"},
		{"{% if x %}\n\n", "jinja: line 2: the template ends where [elif else endif] is needed"},
		{"{{ 1 +\n* }}", "jinja: line 2: '*' where a value is needed"},
		{"{{ 'a\n }}", "jinja: line 1: a string is not closed by '"},
		{"{{ x|nope }}", "jinja: line 1: there is no filter named 'nope'"},
		{"{{ x is nope }}", "jinja: line 1: there is no test named 'nope'"},
		{"{% include 'x' %}", "jinja: line 1: tag 'include' is not used in chat templates and not supported"},
		{"{% for x in [[1]] %}{{ loop(x) }}{% endfor %}", "jinja: line 1: the loop is called but not marked recursive"},
		{"{{ xs.append(1) }}", "jinja: line 1: list.append would change a value, which templates may not"},
		{"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macros call each other more than 200 deep"},
		{"{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
			"a value of more than 1048576 elements"},
		{"{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
			"a value nests more than 500 deep"},
		{"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "more than 1000000 steps"},
		{"{{ 'a' * 100000000 }}", "a value of more than 1048576 elements"},
		{strings.Repeat("(", 1000), "is not closed"},
		{"{{ " + strings.Repeat("(", 1000) + strings.Repeat(")", 1000) + " }}",
			"the template nests more than 500 deep"},
		{"{{ " + strings.Repeat("not ", 1000) + "x }}", "the template nests more than 500 deep"},
		{strings.Repeat("{% if x %}", 1000) + strings.Repeat("{% endif %}", 1000),
			"the template nests more than 500 deep"},
		{"{{ x" + strings.Repeat(".a", 2000) + " }}", "an expression of more than 1000 parts"},
		{"{{ 9223372036854775807 + 1 }}", "does not fit 64 bits"},
	} {
		xs := &Map{}
		xs.Set("xs", List{})
		_, err := render(c.src, xs)
		if strings.HasPrefix(c.src, "((") {
			if err != nil {
				t.Errorf("brackets in text: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want %s", c.src, err, c.want)
		}
	}
	_, err := render("{{ raise_exception('boom') }}", nil)
	var e *Error
	if !errors.As(err, &e) || !e.Raised || e.Message != "boom" {
		t.Errorf("raise_exception gives %#v", err)
	}
}

// mapOf makes a Map of keys and values in turn.
func mapOf(pairs ...Value) *Map {
	m := &Map{}
	for i := 0; i < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
	}
	return m
}

func TestDecodeJSON(t *testing.T) {
	v, err := DecodeJSON([]byte(`{"z":1,"a":[1.0,2e3,-3,true,null,"é"],"z":2}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := render("{{ x }}", mapOf("x", v))
	if want := "{'z': 2, 'a': [1.0, 2000.0, -3, True, None, 'é']}"; err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
	for _, bad := range []string{"", "{", "[1", "{} {}", "99999999999999999999", strings.Repeat("[", 1000), `{"a"}`} {
		if _, err := DecodeJSON([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "jinja: ") {
			t.Errorf("DecodeJSON(%.20q) = %v, want an error", bad, err)
		}
	}
}

// FuzzRender checks that no template makes Parse or Render panic or run away.
func FuzzRender(f *testing.F) {
	for _, file := range []string{"features.json", "render.json"} {
		seen := map[string]bool{}
		for _, c := range cases(f, file) {
			if src := source(f, c); !seen[src] {
				seen[src] = true
				f.Add(src)
			}
		}
	}
	ctx, err := DecodeJSON([]byte(`{"messages":[{"role":"user","content":"é"}],"xs":[3,1,2],"d":{"a":1},"s":"abc"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := Parse(src)
		if err != nil {
			return
		}
		res, err := tmpl.Render(ctx.(*Map), Options{Now: now(), MaxOutput: 1 << 16, MaxSteps: 20000})
		if err == nil && len(res.Text) > 1<<16 {
			t.Errorf("%d bytes of output", len(res.Text))
		}
		for _, s := range res.Generations {
			if s.Start < 0 || s.End < s.Start {
				t.Errorf("span %v", s)
			}
		}
	})
}
