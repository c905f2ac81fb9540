package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// accepts reports whether a text is one of a matcher's.
func accepts(m *Matcher, text string) bool {
	at := m.first
	for _, b := range []byte(text) {
		if at = m.step(at, b); at == nil {
			return false
		}
	}
	return at.done
}

// matcher is a matcher of bytes.
func matcher(t testing.TB, n *Node) *Matcher {
	t.Helper()
	m, err := New(n, &Vocabulary{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// walk is a text that follows a grammar at random. After some bytes it prefers those that end values.
func walk(m *Matcher, r *rand.Rand, patience int) (string, bool) {
	var text []byte
	at := m.first
	for len(text) < 4096 {
		var next []byte
		for b := range 256 {
			if m.step(at, byte(b)) != nil {
				next = append(next, byte(b))
			}
		}
		if at.done && (len(next) == 0 || len(text) > patience || r.IntN(4) == 0) {
			return string(text), true
		}
		if len(next) == 0 {
			return string(text), false
		}
		b := next[r.IntN(len(next))]
		if len(text) > patience {
			for _, end := range []byte(`"}]`) {
				if m.step(at, end) != nil {
					b = end
				}
			}
		}
		text, at = append(text, b), m.step(at, b)
	}
	return string(text), false
}

func compiled(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemas with values that they allow and texts that they do not.
var schemas = []struct {
	schema string
	good   []string
	bad    []string
}{
	{`{}`, []string{`1`, `{"a": [true, null, -1.5e-3, "x\n\u00e9é"]}`, ` []`},
		[]string{``, `{`, `01`, `"\ud800"`, "\"\xff\"", `tru`}},
	{`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150}},
		"required":["name","age"],"additionalProperties":false}`,
		[]string{`{"name":"Ada","age":36}`, "{\n  \"name\": \"\",\n  \"age\": 0\n}", `{"name": "a", "age": 150}`},
		[]string{`{"name":"Ada"}`, `{"age":1,"name":"a"}`, `{"name":"a","age":151}`, `{"name":"a","age":-1}`,
			`{"name":"a","age":1.5}`, `{"name":"a","age":1,"b":1}`}},
	{`{"properties":{"a":{"type":"null"},"b":{"type":"boolean"},"c":{"const":{"x": 1}}},"required":["b"]}`,
		[]string{`{"a":null,"b":true}`, `{"b":false,"c":{"x":1}}`}, []string{`{}`, `{"a":null}`, `{,"b":true}`}},
	{`{"enum":["red","green","grey",1,null,"é\"<"]}`, []string{`"red"`, `"grey"`, `1`, `null`, `"é\"<"`},
		[]string{`"re"`, `red`, `"greyed"`, `2`}},
	{`{"type":["string","null"],"maxLength":3,"minLength":2}`, []string{`"ab"`, `"\"é\\"`, `null`},
		[]string{`"a"`, `"abcd"`}},
	{`{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":3}`, []string{`[1, 2.5]`, `[1,2,3]`},
		[]string{`[]`, `[1]`, `[1,2,3,4]`, `[1,]`}},
	{`{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":1}`, []string{`[1]`, `[1,"a"]`},
		[]string{`[]`, `[1,"a",2]`, `["a"]`}},
	{`{"prefixItems":[{"type":"integer"}],"items":{"type":"boolean"},"maxItems":2}`, []string{`[]`, `[1]`, `[1,true]`},
		[]string{`[1,true,true]`, `[true]`}},
	{`{"$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/t"},
		{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/t","description":"a list"}`,
		[]string{`{"v":1,"next":{"v":2,"next":null}}`}, []string{`{"v":1}`, `{"v":1,"next":{}}`}},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{}`, `{"a":1, "b":2}`},
		[]string{`{"a":"b"}`, `{"a":1,}`}},
	{`{"type":"string","pattern":"^[A-Z]{2,3}-[0-9]+$"}`, []string{`"AB-1"`, `"ABC-99"`}, []string{`"A-1"`, `"AB-1x"`}},
	{`{"type":"string","pattern":"b+|^x.$"}`, []string{`"abbc"`, `"x\""`, `"xé"`}, []string{`"a"`, `"xyz"`}},
	{`{"type":"string","pattern":"^[^a]$"}`, []string{`"b"`, `"\\"`, `"\n"`, `"€"`, `"😀"`},
		[]string{`"a"`, `""`, `"bb"`}},
	{`{"type":"integer","exclusiveMinimum":-12,"maximum":1005}`, []string{`-11`, `-1`, `0`, `999`, `1005`},
		[]string{`-12`, `1006`, `-0`, `1.0`}},
	{`{"type":"number","minimum":0,"maximum":1}`, []string{`0`, `0.25`, `1`, `1.0`}, []string{`1.1`, `-0.1`, `2`}},
	{`{"type":"number","exclusiveMinimum":0}`, []string{`0.001`, `7`, `1.5`}, []string{`0`, `0.0`, `-1`}},
	{`{"type":"number","minimum":-3,"exclusiveMaximum":-1}`, []string{`-3`, `-1.5`, `-2`}, []string{`-1`, `-3.5`, `0`}},
	{`{"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},
		"required":["b"]}],"type":"object"}`, []string{`{"a":1,"b":2}`}, []string{`{"a":1}`}},
	{`{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"}},"required":["kind"]},{"type":"object",
		"properties":{"kind":{"const":"b"},"n":{"type":"integer"}},"required":["kind","n"]}],
		"discriminator":{"propertyName":"kind"}}`, []string{`{"kind":"a"}`, `{"kind":"b","n":1}`},
		[]string{`{"kind":"b"}`}},
	{`{"type":"string","format":"date-time"}`, []string{`"2026-11-28T13:25:26Z"`}, []string{`"2026-11-28"`}},
	{`{"type":"string","format":"uuid"}`, []string{`"123e4567-e89b-12d3-a456-426614174000"`}, []string{`"1"`}},
	{`{"type":"string","format":"email"}`, []string{`"ada@example.org"`}, []string{`"ada"`, `"a@b"`}},
	{`{"type":"string","format":"duration"}`, []string{`"P1DT2H"`, `"T"`}[:1], []string{`"P"`}},
	{`{"type":"string","format":"ipv4"}`, []string{`"10.0.255.1"`}, []string{`"256.0.0.1"`}},
	{`{"type":"string","format":"time"}`, []string{`"23:59:59+01:00"`}, []string{`"24:00:00Z"`}},
}

func TestSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range schemas {
		n, err := Schema(json.RawMessage(x.schema))
		if err != nil {
			t.Errorf("%s: %v", x.schema, err)
			continue
		}
		m, valid := matcher(t, n), compiled(t, x.schema)
		for _, text := range x.good {
			if !accepts(m, text) {
				t.Errorf("%s refuses %s", x.schema, text)
			}
		}
		for _, text := range x.bad {
			if accepts(m, text) {
				t.Errorf("%s allows %s", x.schema, text)
			}
		}
		for range 20 {
			text, whole := walk(m, r, r.IntN(40))
			if !whole {
				continue
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = valid.Validate(v)
			}
			if err != nil {
				t.Fatalf("%s gives %s: %v", x.schema, text, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array","uniqueItems":true}`:                    "schema.uniqueItems is not supported",
		`{"properties":{"a":{"multipleOf":2,"type":"integer"}}}`: "schema.properties.a.multipleOf",
		`{"not":{}}`:                      "schema.not",
		`{"type":"number","minimum":0.5}`: "schema.minimum is 0.5",
		`{"type":"integer","minimum":2,"exclusiveMaximum":2}`:                    "no number",
		`{"$ref":"#/$defs/a"}`:                                                   `schema.$ref is "#/$defs/a"`,
		`{"$ref":"#"}`:                                                           "no finite value",
		`{"properties":{"a":{"$ref":"#"}},"required":["a"]}`:                     "no finite value",
		`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{}]}},"$ref":"#/$defs/a"}`: "refers to itself",
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`:                                  "nested more than",
		`{"type":"string","pattern":"(?!a)b"}`:                                   "schema.pattern is (?!a)b",
		`{"type":"string","pattern":"a\\b"}`:                                     "schema.pattern",
		`{"type":"string","pattern":"a","minLength":2}`:                          "length and a pattern",
		`{"type":"object","required":["a"]}`:                                     "schema.required",
		`{"type":"thing"}`:                                                       "is no type",
		`{"anyOf":[]}`:                                                           "schema.anyOf",
		`{"allOf":[{"type":"string"},{"type":"integer"}]}`:                       "type is in two schemas",
		`7`:                             "schema is 7",
		`false`:                         "no finite value",
		`{"minLength":3,"maxLength":2}`: "minLength is 3",
	} {
		n, err := Schema(json.RawMessage(schema))
		if err == nil {
			_, err = New(n, &Vocabulary{}, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", schema, err, want)
		}
	}
}

func TestUntil(t *testing.T) {
	m := matcher(t, Until("</a></b>"))
	for text, want := range map[string]bool{"x</a></b>": true, "</a></a></b>": true, "</a>": false,
		"<</a></b>": true, "</a></b>x": false, "é\n</a></b>": true} {
		if accepts(m, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// A mask has the tokens that can continue, and no others; following it gives the texts of the grammar, also when states
// are forgotten on the way.
func TestMask(t *testing.T) {
	tok, err := tokenizer.Load("../../../../examples/tiny/model")
	if err != nil {
		t.Fatal(err)
	}
	words, err := NewVocabulary(tok)
	if err != nil {
		t.Skip(err)
	}
	end, _ := tok.TokenID("<|im_end|>")
	n, err := Schema(json.RawMessage(schemas[1].schema))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(n, words, []int32{end})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		g, text := m.Guide(""), ""
		for len(text) < 2000 {
			if r.IntN(40) == 0 {
				m.forget()
			}
			row := make([]float32, tok.VocabSize()+3)
			g.Shape(row)
			var may []int32
			for id, x := range row {
				if x == 0 {
					may = append(may, int32(id))
				}
			}
			if len(may) == 0 {
				t.Fatalf("nothing may follow %q", text)
			}
			token := may[r.IntN(len(may))]
			if token == end {
				break
			}
			text += string(tok.Bytes(token))
			g = g.After(token)
		}
		if len(text) < 2000 && !accepts(m, text) {
			t.Fatalf("%q is no text of the grammar", text)
		}
	}
}

var _ tinker.Guide = guide{}

func FuzzSchema(f *testing.F) {
	for _, x := range schemas {
		f.Add(x.schema, uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		if !json.Valid([]byte(schema)) || len(schema) > 4096 {
			return
		}
		n, err := Schema(json.RawMessage(schema))
		if err != nil {
			return
		}
		m, err := New(n, &Vocabulary{}, nil)
		if err != nil {
			return
		}
		text, whole := walk(m, rand.New(rand.NewPCG(seed, 0)), 20)
		if whole && !json.Valid([]byte(text)) {
			t.Errorf("%s gives %q, which is no JSON", schema, text)
		}
	})
}
