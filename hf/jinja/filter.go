package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// filterTable returns the filters: x | name.
func filterTable() map[string]function {
	return map[string]function{
		"tojson": filterToJSON, "string": textFilter(func(s string) string { return s }),
		"safe":  textFilter(func(s string) string { return s }),
		"upper": textFilter(upper), "lower": textFilter(lower), "capitalize": textFilter(capitalize),
		"title":  textFilter(filterTitle),
		"escape": textFilter(escapeHTML), "e": textFilter(escapeHTML), "forceescape": textFilter(escapeHTML),
		"trim": filterTrim, "replace": filterReplace, "indent": filterIndent, "format": filterFormat,
		"wordcount": filterWordCount,
		"center":    filterCenter,
		"int":       filterInt, "float": filterFloat, "abs": filterAbs, "round": filterRound,
		"default": filterDefault, "d": filterDefault, "length": filterLength, "count": filterLength,
		"attr": filterAttr, "items": filterItems, "list": filterList, "first": filterFirst, "last": filterLast,
		"reverse": filterReverse, "join": filterJoin, "sort": filterSort, "unique": filterUnique, "sum": filterSum,
		"min": filterExtreme("min", -1), "max": filterExtreme("max", 1), "dictsort": filterDictSort,
		"batch": filterBatch,
		"slice": filterSlice, "groupby": filterGroupBy,
		"map": filterMap, "select": choose(true, false), "reject": choose(false, false),
		"selectattr": choose(true, true), "rejectattr": choose(false, true),
	}
}

// texted binds the arguments of a filter whose value is taken as a text.
func (r *run) texted(a args, name string, params ...string) (s string, rest []Value, err error) {
	v, err := a.bind(name, append([]string{"value"}, params...)...)
	if err != nil {
		return "", nil, err
	}
	s, err = r.str(v[0])
	return s, v[1:], err
}

// textFilter makes a filter of a function of the value's text.
func textFilter(f func(string) string) function {
	return func(r *run, a args) (Value, error) {
		s, _, err := r.texted(a, "the filter")
		if err != nil {
			return nil, err
		}
		if err := r.spend("filters of texts", len(s)/8, 0); err != nil {
			return nil, err
		}
		out := f(s)
		return out, r.fits(len(out))
	}
}

// filterTitle begins words with a capital, but unlike str.title only after
// white space, hyphens and opening brackets.
func filterTitle(s string) string {
	var out strings.Builder
	start := true
	for _, r := range s {
		if start {
			out.WriteString(upper(string(r)))
		} else {
			out.WriteString(lower(string(r)))
		}
		start = pySpace(r) || strings.ContainsRune("-([{<", r)
	}
	return out.String()
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;").Replace(s)
}

func filterTrim(r *run, a args) (Value, error) {
	s, rest, err := r.texted(a, "trim", "chars")
	if err != nil {
		return nil, err
	}
	return r.strip(s, "strip", args{pos: []Value{or(rest[0], nil)}})
}

func filterReplace(r *run, a args) (Value, error) {
	v, err := a.bind("replace", "value", "old", "new", "count")
	if err != nil {
		return nil, err
	}
	var texts [3]string
	for i := range texts {
		if texts[i], err = r.str(or(v[i], "")); err != nil {
			return nil, err
		}
	}
	return replaceText(r, texts[0], args{pos: []Value{texts[1], texts[2], or(v[3], nil)}})
}

// filterIndent indents all lines but the first, and blank ones only on demand.
func filterIndent(r *run, a args) (Value, error) {
	s, rest, err := r.texted(a, "indent", "width", "first", "blank")
	if err != nil {
		return nil, err
	}
	pad, ok := rest[0].(string)
	if !ok {
		n, err := integer(or(rest[0], int64(4)))
		if err != nil {
			return nil, err
		}
		if err := r.fits(n * (1 + strings.Count(s, "\n"))); n > 0 && err != nil {
			return nil, err
		}
		pad = strings.Repeat(" ", max(n, 0))
	}
	if err := r.fits(len(s) + len(pad)*(2+strings.Count(s, "\n"))); err != nil {
		return nil, err
	}
	if err := r.spend("indent", strings.Count(s, "\n"), pieceBytes*strings.Count(s, "\n")+len(pad)*strings.Count(
		s, "\n")); err != nil {
		return nil, err
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if i > 0 && (line != "" || truth(or(rest[2], false))) || i == 0 && truth(or(rest[1], false)) {
			lines[i] = pad + line
		}
	}
	return strings.Join(lines, "\n"), nil
}

func filterFormat(r *run, a args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, fmt.Errorf("format needs a text")
	}
	s, err := r.str(a.pos[0])
	if err != nil {
		return nil, err
	}
	return r.percent(s, Tuple(a.pos[1:]))
}

func filterWordCount(r *run, a args) (Value, error) {
	s, _, err := r.texted(a, "wordcount")
	n := int64(0)
	for range strings.FieldsFuncSeq(s, pySpace) {
		n++
	}
	return n, err
}

func filterCenter(r *run, a args) (Value, error) {
	s, rest, err := r.texted(a, "center", "width")
	if err != nil {
		return nil, err
	}
	return pad(r, s, "center", args{pos: []Value{or(rest[0], int64(80))}})
}

func filterDefault(r *run, a args) (Value, error) {
	v, err := a.bind("default", "value", "default_value", "boolean")
	if err != nil {
		return nil, err
	}
	if isUndefined(v[0]) || truth(or(v[2], false)) && !truth(v[0]) {
		return or(v[1], ""), nil
	}
	return v[0], nil
}

func filterLength(r *run, a args) (Value, error) {
	v, err := a.bind("length", "value")
	if err != nil {
		return nil, err
	}
	if s, ok := v[0].(string); ok {
		return int64(utf8.RuneCountInString(s)), nil
	}
	n, err := length(v[0])
	return int64(n), err
}

// filterAttr is getattr: methods, but not the keys of a dict.
func filterAttr(r *run, a args) (Value, error) {
	v, err := a.bind("attr", "value", "name")
	if err != nil {
		return nil, err
	}
	name, err := text(v[1])
	if err != nil {
		return nil, err
	}
	if m, ok := v[0].(*Map); ok {
		if method := r.dictMethod(m, name); method != nil {
			return method, nil
		}
		return undefined{what: fmt.Sprintf("'dict' has no attribute '%s'", name)}, nil
	}
	return r.getAttr(v[0], name)
}
