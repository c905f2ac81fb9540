package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// defaulter is a section that has defaults other than zero.
type defaulter interface{ defaults() }

// enum is a string type with a fixed set of values and other names for some of them.
type enum interface {
	choices() (names []string, aliases map[string]string)
}

// setDefaults fills the section at ptr and the sections inside it; sections behind pointers stay nil.
func setDefaults(ptr any) { fillDefaults(reflect.ValueOf(ptr).Elem()) }

func fillDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fillDefaults(v.Field(i))
		}
	}
	if d, ok := v.Addr().Interface().(defaulter); ok {
		d.defaults()
	}
}

// key is one key of a section: where it goes, and what its tags say.
type key struct {
	name     string
	index    int    // of the struct field; -1 for keys that the program sets itself
	nullable bool   // null means the zero value
	applies  string // "": everywhere; no: nowhere here; verl: where model.tinker.enable is false, see deriveVerl
}

// keysOf lists the keys of a section in the order of its struct.
func keysOf(t reflect.Type) []key {
	var keys []key
	for i := range t.NumField() {
		f := t.Field(i)
		if auto, ok := f.Tag.Lookup("auto"); ok {
			for name := range strings.SplitSeq(auto, ",") {
				keys = append(keys, key{name: name, index: -1})
			}
			continue
		}
		tag, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		keys = append(keys, key{name, i, option == "null", f.Tag.Get("applies")})
	}
	return keys
}

// decoder writes a tree onto the schema and remembers where each value came from.
type decoder struct {
	found *document.Problems
	trace trace
}

// decodeInto writes root onto the section at ptr, adding a problem for each key or value that does not fit.
func decodeInto(ptr any, root *document.Node, found *document.Problems) trace {
	d := decoder{found: found, trace: trace{origins: map[string]Origin{}}}
	d.trace.saved = savedByUpstream(root)
	d.decode(reflect.ValueOf(ptr).Elem(), root, "", false)
	return d.trace
}

func (d *decoder) decode(v reflect.Value, n *document.Node, path string, nullable bool) {
	d.trace.origins[path] = originOf(n)
	if n.Broken {
		return
	}
	if n.IsNull() && d.decodeNull(v, n, path, nullable) {
		return
	}
	if e, ok := v.Interface().(enum); ok && v.Kind() == reflect.String {
		d.decodeEnum(v, n, path, e)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		fillDefaults(target.Elem())
		d.decode(target.Elem(), n, path, false)
		v.Set(target)
	case reflect.Struct:
		d.decodeStruct(v, n, path)
	case reflect.Slice:
		d.decodeSlice(v, n, path)
	case reflect.Map:
		d.decodeMap(v, n, path)
	case reflect.Interface:
		d.recordAll(n, path)
		v.Set(reflect.ValueOf(n.Value()))
	default:
		d.decodeScalar(v, n, path)
	}
}

// decodeNull handles a null: it reports whether that is all there is to do.
func (d *decoder) decodeNull(v reflect.Value, n *document.Node, path string, nullable bool) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		v.SetZero()
	case reflect.Struct:
		if !nullable {
			d.found.Add(n.At, path, "is null; write {} for the defaults, or leave the key out")
		}
	default:
		if !nullable {
			d.found.Add(n.At, path, "is null, but needs %s; leave the key out for the default", wanted(v.Kind()))
			break
		}
		v.SetZero()
	}
	return true
}

func (d *decoder) decodeStruct(v reflect.Value, n *document.Node, path string) {
	if n.Kind != document.Mapping {
		d.found.Add(n.At, path, "is %s, but needs a mapping of keys; write {} for the defaults", n.Describe())
		return
	}
	keys := keysOf(v.Type())
	for _, f := range n.Fields {
		full := document.Join(path, f.Key)
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == f.Key })
		if i < 0 {
			d.unknown(f, full, path, keys)
			continue
		}
		if keys[i].index < 0 {
			if !d.trace.saved {
				d.trace.auto = append(d.trace.auto, full)
			}
			d.known(f.Value, full, autoSections()[f.Key])
			continue
		}
		field := v.Field(keys[i].index)
		if given := f.Value; keys[i].applies != "" {
			if d.trace.saved && field.Kind() == reflect.Map { // verl's own tree, which upstream fills
				given = nil
			}
			d.trace.idle = append(d.trace.idle, leaves(given, full)...)
		}
		before := field.Interface()
		d.decode(field, f.Value, full, keys[i].nullable)
		if d.trace.saved && isDefault(field, before) {
			d.trace.forget(full)
		}
	}
}

// unknown adds the problem of a key that the section at path does not have.
func (d *decoder) unknown(f document.Field, full, path string, keys []key) {
	if full == "cod" { // of upstream's main branch
		d.found.Add(f.At, full, "is not here: CoD's workflows are a Python research package; remove the section, and "+
			"give workflows of your own")
		return
	}
	d.found.Add(f.At, full, "unknown key%s", hint(f.Key, path, keys))
}

// leaves lists the paths of the scalars of n, or path itself where n is nil, not a mapping or an empty one.
func leaves(n *document.Node, path string) []string {
	if n == nil || n.Kind != document.Mapping || len(n.Fields) == 0 {
		return []string{path}
	}
	var out []string
	for _, f := range n.Fields {
		out = append(out, leaves(f.Value, document.Join(path, f.Key))...)
	}
	return out
}

func (d *decoder) decodeSlice(v reflect.Value, n *document.Node, path string) {
	items := n.Items
	if n.Kind != document.Sequence {
		if v.Type() != reflect.TypeFor[Strings]() || n.Kind != document.Scalar {
			d.found.Add(n.At, path, "is %s, but needs a list such as [a, b]", n.Describe())
			return
		}
		items = []*document.Node{n}
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		fillDefaults(out.Index(i))
		d.decode(out.Index(i), item, document.Index(path, i), false)
	}
	v.Set(out)
}

func (d *decoder) decodeMap(v reflect.Value, n *document.Node, path string) {
	if n.Kind != document.Mapping {
		d.found.Add(n.At, path, "is %s, but needs a mapping of keys", n.Describe())
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.Fields))
	for _, f := range n.Fields {
		item := reflect.New(v.Type().Elem()).Elem()
		fillDefaults(item)
		d.decode(item, f.Value, document.Join(path, f.Key), false)
		out.SetMapIndex(reflect.ValueOf(f.Key), item)
	}
	v.Set(out)
}

// recordAll remembers the places of everything inside an untyped value.
func (d *decoder) recordAll(n *document.Node, path string) {
	d.trace.origins[path] = originOf(n)
	for _, f := range n.Fields {
		d.recordAll(f.Value, document.Join(path, f.Key))
	}
	for i, item := range n.Items {
		d.recordAll(item, document.Index(path, i))
	}
}

func (d *decoder) decodeEnum(v reflect.Value, n *document.Node, path string, e enum) {
	names, aliases := e.choices()
	word := strings.ToLower(n.Text)
	if alias, ok := aliases[word]; ok {
		word = alias
	}
	if n.Kind != document.Scalar || !slices.Contains(names, word) {
		known := slices.Concat(names, slices.Sorted(maps.Keys(aliases)))
		d.found.Add(n.At, path, "is %s; choose %s%s", n.Describe(), orList(names), didYouMean(word, known))
		return
	}
	v.SetString(word)
}

func (d *decoder) decodeScalar(v reflect.Value, n *document.Node, path string) {
	if n.Kind == document.Scalar && setScalar(v, n) {
		return
	}
	d.found.Add(n.At, path, "is %s, but needs %s", n.Describe(), wanted(v.Kind()))
}

// setScalar coerces the text of n to the kind of v; a string takes any scalar as it is written.
func setScalar(v reflect.Value, n *document.Node) bool {
	text := strings.TrimSpace(n.Text)
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Text)
		return true
	case reflect.Bool:
		b, ok := document.ParseBool(text)
		v.SetBool(b)
		return ok
	case reflect.Int, reflect.Int64:
		i, ok := document.ParseInt(text)
		v.SetInt(i)
		return ok
	case reflect.Float64:
		f, ok := document.ParseFloat(text)
		v.SetFloat(f)
		return ok
	}
	return false
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number such as 8"
	case reflect.Float64:
		return "a number such as 0.5 or 1e-6"
	case reflect.String:
		return "a text"
	}
	return "another kind of value"
}
