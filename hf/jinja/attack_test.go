package jinja

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// attacks are templates that ask for more than any machine has.
func attacks() map[string]string {
	big := `{% set s = 'aé' * 20000000 %}`
	return map[string]string{
		"namespace-doubling": `{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x ` +
			`%}{% endfor %}`,
		"many-long-lists": `{% set ns = namespace(l=[]) %}{% for i in range(100) %}{% set ns.l = ns.l + [[0] * ` +
			`60000000] %}{% endfor %}`,
		"list-of-itself": `{% set ns = namespace(l=[1]) %}{% for i in range(400) %}{% set ns.l = [ns.l, ns.l] ` +
			`%}{% endfor %}{{ ns.l }}`,
		"kept-texts": `{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + ['a' * ` +
			`60000000] %}{% endfor %}`,
		"captured-scopes": `{% set ns = namespace(l=[]) %}{% for j in range(99999) %}{% for i in range(99999) ` +
			`%}{% macro m() %}{% endmacro %}{% set ns.f = m %}{% endfor %}{% endfor %}`,
		"upper":        big + `{% for i in range(99999) %}{% set t = s.upper() %}{% endfor %}`,
		"upper-filter": big + `{% for i in range(99999) %}{% set t = s | upper %}{% endfor %}`,
		"find": `{% set s = 'a' * 60000000 %}{% for i in range(99999) %}{% if s.find('b') > 0 %}{% ` +
			`endif %}{% endfor %}`,
		"count": `{% set s = 'a' * 60000000 %}{% for i in range(99999) %}{% if s.count('aab') > 0 %}{% ` +
			`endif %}{% endfor %}`,
		"in": `{% set s = 'a' * 60000000 %}{% for i in range(99999) %}{% if 'aab' in s %}{% endif ` +
			`%}{% endfor %}`,
		"equal-texts": `{% set s = 'a' * 60000000 %}{% set t = 'a' * 60000000 %}{% for i in range(99999) ` +
			`%}{% if s == t %}{% endif %}{% endfor %}`,
		"long-keys": `{% set s = 'a' * 60000000 %}{% set d = {s: 1} %}{% for i in range(99999) %}{% if ` +
			`d[s] %}{% endif %}{% endfor %}`,
		"sort": `{% set l = range(99999) | list %}{% for i in range(99999) %}{% set t = l | ` +
			`sort(reverse=true) %}{% endfor %}`,
		"sort-texts": `{% set l = [('a' * 30000000) ~ 'b', ('a' * 30000000) ~ 'a'] * 1000 %}{{ (l | sort) | ` +
			`length }}`,
		"sort-folded":  big + `{{ ([s, s] * 1000) | sort | length }}`,
		"min":          big + `{{ ([s, s] * 100000) | min | length }}`,
		"characters":   `{% set s = 'a' * 60000000 %}{% for c in s %}{% endfor %}`,
		"character-at": big + `{% for i in range(99999) %}{% if s[-1] %}{% endif %}{% endfor %}`,
		"slices":       big + `{% for i in range(99999) %}{% set t = s[1:] %}{% endfor %}`,
		"split":        `{% set l = ('a ' * 30000000).split() %}{{ l | length }}`,
		"splitlines":   `{% set l = ('a\n' * 30000000).splitlines() %}{{ l | length }}`,
		"replace":      big + `{% for i in range(99999) %}{% set t = s.replace('a', 'bb') %}{% endfor %}`,
		"join":         `{% for i in range(99999) %}{% set t = ([1] * 9000000) | join('aaaaaaa') %}{% endfor %}`,
		"tojson": `{% set l = ['é' * 9000000] %}{% for i in range(99999) %}{% set t = l | ` +
			`tojson(ensure_ascii=true) %}{% endfor %}`,
		"tojson-indent": `{% set ns = namespace(l=[1]) %}{% for i in range(400) %}{% set ns.l = [ns.l] %}{% ` +
			`endfor %}{{ ns.l | tojson(indent='a' * 50000000) }}`,
		"strip-set": `{% set s = 'a' * 9000000 %}{% set c = ('b' * 9000000) ~ 'a' %}{% for i in range(999) ` +
			`%}{% if s.strip(c) %}{% endif %}{% endfor %}`,
		"format": `{% set s = '%9s' * 1000 %}{% for i in range(99999) %}{% set t = s.replace('%9s', ` +
			`'{:900}').format(*range(1000)) %}{% endfor %}`,
		"macro-tree": `{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ ` +
			`m(150) }}`,
		"nested-loops": strings.Repeat(`{% for i in range(99999) %}`, 9) + strings.Repeat(`{% endfor %}`, 9),
		"deep-macros":  deepMacro(),
		"dicts": `{% set ns = namespace(d={}) %}{% for i in range(99999) %}{% set ns.d = dict(ns.d, ` +
			`**{i ~ '': i}) %}{% endfor %}`,
		"batch": `{{ (range(99999) | batch(99999, 'x') | list) | length }}{% for i in range(99999) ` +
			`%}{% set t = [1] | batch(99999, 'x') %}{% endfor %}`,
		"unique": `{% set l = range(99999) | list %}{% for i in range(99999) %}{% set t = l | unique ` +
			`%}{% endfor %}`,
		"sum-of-lists": `{% set l = [[1] * 1000] * 100000 %}{{ l | sum(start=[]) | length }}`,
	}
}

// deepMacro calls itself from the bottom of an expression that nests as deep as the parser allows.
func deepMacro() string {
	body := "m()"
	for range 80 {
		body = "(" + body + strings.Repeat(" ~ 1 + 1", 400) + ")"
	}
	return "{% macro m() %}{{ " + body + " }}{% endmacro %}{{ m() }}"
}

// TestAttacks renders what would take gigabytes or minutes: every template ends in an error, within its budgets.
func TestAttacks(t *testing.T) {
	const steps, size = 200_000, 8 << 20
	for name, src := range attacks() {
		tmpl, err := Parse(strings.NewReplacer("0000000", "00000", "000000", "0000").Replace(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = tmpl.Render(nil, Options{Now: now(), MaxSteps: steps, MaxBytes: size})
		runtime.ReadMemStats(&after)
		var budget *BudgetError
		var fault *Error
		if !errors.As(err, &fault) {
			t.Errorf("%s: error %v, want one of type *Error", name, err)
		} else if name != "deep-macros" && (!errors.As(err, &budget) || budget.Spent <= 0 || budget.Spender == "") {
			t.Errorf("%s: error %v, want a budget that ran out and what spent it", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 20*size {
			t.Errorf("%s: %d MiB were allocated under a budget of %d", name, made>>20, size>>20)
		}
	}
}

// TestBudgetsCountWork: a budget ends a rendering at the same step every time, and names the work.
func TestBudgetsCountWork(t *testing.T) {
	for _, c := range []struct{ src, budget, spender string }{
		{`{% set s = 'a' * 1000000 %}{% for i in range(999) %}{% set t = s.upper() %}{% endfor %}`, "steps", "upper"},
		{`{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`, "bytes",
			"+"},
		{`{% for i in range(99999) %}{% for j in range(99999) %}{{ i + j }}{% endfor %}{% endfor %}`, "steps",
			"expressions"},
		{`{% set l = range(9999) | list %}{% for i in range(99) %}{% set l = l | unique | list %}{% endfor %}`, "bytes",
			"unique"},
	} {
		seen := ""
		for range 3 {
			tmpl, err := Parse(c.src)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tmpl.Render(nil, Options{Now: now(), MaxSteps: 500_000, MaxBytes: 8 << 20})
			var e *BudgetError
			if !errors.As(err, &e) || e.Budget != c.budget || e.Spender != c.spender {
				t.Fatalf("%s: %v, want the budget of %s spent by %s", c.src, err, c.budget, c.spender)
			}
			if text := fmt.Sprint(err); seen != "" && text != seen {
				t.Errorf("%s: %s, then %s", c.src, seen, text)
			} else {
				seen = text
			}
		}
	}
}

// TestParseDepth: every way to nest has a limit, so that no template exhausts the stack.
func TestParseDepth(t *testing.T) {
	for _, src := range []string{
		"{{ " + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000) + " }}",
		"{{ " + strings.Repeat("[", 2000) + "1" + strings.Repeat("]", 2000) + " }}",
		"{{ " + strings.Repeat("{1:", 2000) + "1" + strings.Repeat("}", 2000) + " }}",
		"{{ " + strings.Repeat("-", 2000) + "1 }}",
		"{{ " + strings.Repeat("not ", 2000) + "1 }}",
		"{{ 1" + strings.Repeat(" if 1 else 1", 2000) + " }}",
		"{{ 1" + strings.Repeat(" ** 1", 2000) + " }}",
		"{{ 1" + strings.Repeat(" + 1", 2000) + " }}",
		"{{ 1" + strings.Repeat(" and 1", 2000) + " }}",
		"{{ 1" + strings.Repeat(" | int", 2000) + " }}",
		"{{ x" + strings.Repeat(".x", 2000) + " }}",
		"{{ x" + strings.Repeat("()", 2000) + " }}",
		"{{ x" + strings.Repeat("[x", 2000) + strings.Repeat("]", 2000) + " }}",
		strings.Repeat("{% if 1 %}", 2000) + strings.Repeat("{% endif %}", 2000),
		strings.Repeat("{% for x in y %}", 2000) + strings.Repeat("{% endfor %}", 2000),
		strings.Repeat("{% filter upper %}", 2000) + strings.Repeat("{% endfilter %}", 2000),
		strings.Repeat("{% set x %}", 2000) + strings.Repeat("{% endset %}", 2000),
		strings.Repeat("{% macro x() %}", 2000) + strings.Repeat("{% endmacro %}", 2000),
		strings.Repeat("{% call x() %}", 2000) + strings.Repeat("{% endcall %}", 2000),
		strings.Repeat("{% generation %}", 2000) + strings.Repeat("{% endgeneration %}", 2000),
		"{% set " + strings.Repeat("(", 2000) + "x" + strings.Repeat(")", 2000) + " = 1 %}",
		strings.Repeat("x", maxSource+1),
	} {
		_, err := Parse(src)
		if err == nil || !strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "parts") &&
			!strings.Contains(err.Error(), "at most") {
			t.Errorf("%.20q… is read: %v", src, err)
		}
	}
}

// BenchmarkAttacks shows what the default budgets cost before they end an attack.
func BenchmarkAttacks(b *testing.B) {
	for name, src := range attacks() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				tmpl, err := Parse(src)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := tmpl.Render(nil, Options{Now: now()}); err == nil {
					b.Fatal("the template was rendered")
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "MiB-heap")
		})
	}
}
