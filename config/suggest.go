package config

import (
	"reflect"
	"slices"
	"strings"
)

// hint says what was probably meant by an unknown key of the section at path: the nearest key there, the sections
// where a key of that name exists, or the keys there are.
func hint(name, path string, keys []key) string {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		if k.index >= 0 {
			names = append(names, k.name)
		}
	}
	if near := didYouMean(name, names); near != "" {
		return near
	}
	if homes := sectionsWith(name); len(homes) > 0 {
		return "; it belongs under " + orList(homes)
	}
	if path == "" {
		path = "the top"
	}
	return "; keys of " + path + " are " + strings.Join(names, ", ")
}

// didYouMean names the nearest of the known words, or nothing when none is near.
func didYouMean(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		d := distance(strings.ToLower(word), k)
		if d < least || d == least && len(k) == len(word) && len(best) != len(word) && best != "" {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that lead from a to b
// (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// sectionsWith lists the sections of the schema that have the key, at most three, shortest first.
func sectionsWith(name string) []string {
	var homes []string
	eachKey(reflect.TypeFor[Config](), "", func(section, key string) {
		if key == name {
			homes = append(homes, section)
		}
	})
	slices.SortStableFunc(homes, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	return homes[:min(len(homes), 3)]
}

// eachKey calls yield for each key of the schema below section, stages left out.
func eachKey(t reflect.Type, section string, yield func(section, key string)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Stage]() {
		return
	}
	for _, k := range keysOf(t) {
		if k.index < 0 {
			continue
		}
		yield(section, k.name)
		eachKey(t.Field(k.index).Type, join(section, k.name), yield)
	}
}

// orList writes "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
