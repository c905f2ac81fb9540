package grammar

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// typeOf are the keywords from which a missing type is known.
var typeOf = []struct{ keyword, name string }{{"properties", "object"}, {"required", "object"},
	{"additionalProperties", "object"}, {"items", "array"}, {"prefixItems", "array"}, {"minItems", "array"},
	{"maxItems", "array"}, {"pattern", "string"}, {"minLength", "string"}, {"maxLength", "string"}}

// keywords are those that belong to a type; of several types each takes its own.
var keywords = map[string][]string{"object": {"properties", "required", "additionalProperties"},
	"array":  {"items", "prefixItems", "minItems", "maxItems"},
	"string": {"pattern", "minLength", "maxLength", "format"},
	"number": bounds, "integer": bounds}

var bounds = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format"}

// typed is the values of the keywords of one or several types.
func (c *compiler) typed(m members, at string) (*Node, error) {
	var types []string
	if raw, ok := m["type"]; ok {
		one := ""
		if json.Unmarshal(raw, &one) == nil {
			types = []string{one}
		} else if json.Unmarshal(raw, &types) != nil || len(types) == 0 {
			return nil, param.Invalid("", "%s.type is %s; it must be a text or a list of texts", at, param.Brief(raw))
		}
		delete(m, "type")
	} else if len(m) == 0 {
		return c.value, nil
	}
	for _, t := range typeOf {
		if _, ok := m[t.keyword]; ok && types == nil {
			types = []string{t.name}
		}
	}
	n := Alt()
	for _, name := range types {
		own := members{}
		for _, keyword := range keywords[name] {
			if raw, ok := m[keyword]; ok {
				own[keyword] = raw
			}
		}
		one, err := c.one(name, own, at)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, one)
	}
	for _, name := range types {
		for _, keyword := range keywords[name] {
			delete(m, keyword)
		}
	}
	return n, c.rest(m, at)
}

// one is the values of a type.
func (c *compiler) one(name string, m members, at string) (*Node, error) {
	switch name {
	case "object":
		return c.objects(m, at)
	case "array":
		return c.arrays(m, at)
	case "string":
		return c.strings(m, at)
	case "integer":
		return ranged(m, at, integer, integersIn)
	case "number":
		return ranged(m, at, number, numbersIn)
	case "boolean":
		return Texts([]string{"true", "false"}), nil
	case "null":
		return Text("null"), nil
	}
	return nil, param.Invalid("", "%s.type is %q, which is no type", at, name)
}

// Property is a member that an object may have.
type Property struct {
	Name     string
	Value    *Node
	Required bool
	Plain    *Node // the value where texts stand without quotes; nil if it may be any text
}

// Properties are the members of the objects of a schema, in their order.
func Properties(raw json.RawMessage) ([]Property, error) {
	c := &compiler{parts: newParts(), root: raw, refs: map[string]*Node{}}
	m, err := readMembers(raw, "schema")
	if err != nil {
		return nil, err
	}
	return c.properties(m, "schema")
}

// properties reads properties and required.
func (c *compiler) properties(m members, at string) (list []Property, err error) {
	var required []string
	if _, err := m.take("required", at, &required); err != nil {
		return nil, err
	}
	if raw, ok := m["properties"]; ok {
		if list, err = c.inOrder(raw, at+".properties", required); err != nil {
			return nil, err
		}
	}
	for _, name := range required {
		if !slices.ContainsFunc(list, func(p Property) bool { return p.Name == name }) {
			return nil, param.Invalid("", "%s.required has %q, which is not in properties", at, name)
		}
	}
	return list, nil
}

// inOrder reads properties in their order.
func (c *compiler) inOrder(raw json.RawMessage, at string, required []string) (list []Property, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, param.Invalid("", "%s is %s; it must be an object", at, param.Brief(raw))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		p := Property{Name: name.(string)}
		if slices.ContainsFunc(list, func(q Property) bool { return q.Name == p.Name }) {
			return nil, param.Invalid("", "%s has %q twice", at, p.Name)
		}
		if p.Value, err = c.schema(value, at+"."+p.Name); err != nil {
			return nil, err
		}
		p.Plain = plain(value, p.Value)
		p.Required = slices.Contains(required, p.Name)
		list = append(list, p)
	}
	return list, nil
}

// plain is the values of a schema where texts stand without quotes; nil if they may be any text.
func plain(raw json.RawMessage, value *Node) *Node {
	var m struct {
		Type string
		Enum []string
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	switch m.Type {
	case "integer", "number", "boolean", "null", "array", "object":
		return value
	}
	if m.Enum != nil {
		return Texts(m.Enum)
	}
	return nil
}

// objects is objects.
func (c *compiler) objects(m members, at string) (*Node, error) {
	list, err := c.properties(m, at)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return c.dictionary(m["additionalProperties"], at)
	}
	end := Seq(c.space, Text("}"))
	first, later := end, end // from property i on: without and with members before it
	for _, p := range slices.Backward(list) {
		member := Seq(c.space, literals([]json.RawMessage{param.Encoded(p.Name)}), Text(":"), c.space, p.Value)
		with, after := Seq(member, later), Seq(Text(","), member, later)
		if p.Required {
			first, later = with, after
		} else {
			first, later = Alt(with, first), Alt(after, later)
		}
	}
	return Seq(Text("{"), first), nil
}

// dictionary is objects without properties of their own.
func (c *compiler) dictionary(additional json.RawMessage, at string) (*Node, error) {
	value := c.value
	if additional != nil {
		var err error
		if value, err = c.schema(additional, at+".additionalProperties"); err != nil {
			return nil, err
		}
	}
	return c.object(c.quoted(Repeat(c.char, 0, -1)), value, 0, -1), nil
}

// mostCount bounds lengths.
const mostCount = 1 << 20

// counts reads two lengths.
func (m members) counts(least, most, at string) (int, int, error) {
	low, high := 0, -1
	_, err := m.take(least, at, &low)
	there, err2 := m.take(most, at, &high)
	switch {
	case err != nil:
		return 0, 0, err
	case err2 != nil:
		return 0, 0, err2
	case low < 0 || low > mostCount || there && (high < low || high > mostCount):
		return 0, 0, param.Invalid("", "%s: %s is %d and %s is %d; they must be 0 to %d, in this order", at, least, low,
			most, high, mostCount)
	}
	return low, high, nil
}

// arrays is arrays.
func (c *compiler) arrays(m members, at string) (*Node, error) {
	least, most, err := m.counts("minItems", "maxItems", at)
	if err != nil {
		return nil, err
	}
	var raws []json.RawMessage
	if _, err := m.take("prefixItems", at, &raws); err != nil {
		return nil, err
	}
	var head []*Node
	for _, raw := range raws {
		one, err := c.schema(raw, at+".prefixItems")
		if err != nil {
			return nil, err
		}
		head = append(head, one)
	}
	item := c.value
	if raw, ok := m["items"]; ok && string(raw) == "false" {
		item = nil
	} else if ok {
		if item, err = c.schema(raw, at+".items"); err != nil {
			return nil, err
		}
	}
	if item == nil && least > len(head) {
		return nil, param.Invalid("", "%s.minItems is %d, and there are %d items", at, least, len(head))
	}
	return c.array(head, item, least, most), nil
}

// ranged is numbers, all or those of a range.
func ranged(m members, at string, all func() *Node, in func(low, high bound) *Node) (*Node, error) {
	low, high := bound{at: -mostWhole}, bound{at: mostWhole}
	some := false
	for _, name := range bounds[:4] {
		var x float64
		there, err := m.take(name, at, &x)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		some = true
		if x != math.Trunc(x) || math.Abs(x) > mostWhole {
			return nil, param.Invalid("", "%s.%s is %v; only whole numbers of up to %d digits are supported here", at,
				name, x, mostDigits)
		}
		b := bound{at: int64(x), open: strings.HasPrefix(name, "exclusive")}
		if lower := strings.HasSuffix(name, "inimum"); lower && (b.at > low.at || b.at == low.at && b.open) {
			low = b
		} else if !lower && (b.at < high.at || b.at == high.at && b.open) {
			high = b
		}
	}
	if !some {
		return all(), nil
	}
	if n := in(low, high); len(n.list) > 0 {
		return n, nil
	}
	return nil, param.Invalid("", "%s: no number is in the range of minimum and maximum", at)
}

// formats are the formats that are held, as patterns. Others say nothing about which values are valid.
var formats = map[string]string{
	"date":      `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$`,
	"time":      `^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
	"date-time": "", // both
	"uuid":      `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`,
	"ipv4":      `^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$`,
	"email": `^[a-z0-9]{1,20}([._+-][a-z0-9]{1,20}){0,1}@[a-z0-9]{1,20}` +
		`(-[a-z0-9]{1,20})?(\.[a-z0-9]{1,20})?\.[a-z]{2,12}$`,
	"duration": `^P([0-9]{1,3}D(T[0-9]{1,2}H)?|T[0-9]{1,3}H([0-9]{1,2}M)?|T[0-9]{1,3}M([0-9]{1,2}S)?|T[0-9]{1,4}S)$`,
}

// strings is strings.
func (c *compiler) strings(m members, at string) (*Node, error) {
	pattern, format := "", ""
	_, err1 := m.take("format", at, &format)
	patterned, err2 := m.take("pattern", at, &pattern)
	_, low := m["minLength"]
	_, high := m["maxLength"]
	least, most, err3 := m.counts("minLength", "maxLength", at)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	if held, ok := formats[format]; ok && !patterned {
		pattern, patterned = held, true
		if format == "date-time" {
			pattern = strings.TrimSuffix(formats["date"], "$") + "T" + strings.TrimPrefix(formats["time"], "^")
		}
	}
	if !patterned {
		return c.quoted(Repeat(c.char, least, most)), nil
	}
	if low || high {
		return nil, param.Invalid("", "%s has a length and a pattern or format; only one of them is held here: write "+
			"the length into the pattern", at)
	}
	n, err := c.pattern(pattern)
	if err != nil {
		return nil, param.Invalid("", "%s.pattern is %s, which is not supported here: %v", at,
			param.Brief([]byte(pattern)), err)
	}
	return c.quoted(n), nil
}
