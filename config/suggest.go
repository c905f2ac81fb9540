package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/spell"
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
	path = cmp.Or(path, "the top")
	return "; keys of " + path + " are " + strings.Join(names, ", ")
}

// didYouMean names the nearest of the known words, or nothing when none is near.
func didYouMean(word string, known []string) string { return spell.DidYouMean(word, known) }

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
		eachKey(t.Field(k.index).Type, document.Join(section, k.name), yield)
	}
}

// orList writes "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
