package chat

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// toolList is a tool f with a parameter of each type, and a tool g without parameters.
func toolList(t testing.TB) jinja.List {
	t.Helper()
	v, err := jinja.DecodeJSON([]byte(`[{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
		"$defs": {"size": {"enum": [1, 2]}, "loop": {"$ref": "#/$defs/loop"}},
		"properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "x": {"type": "number"},
		"b": {"type": "boolean"}, "o": {"type": "object"}, "a": {"type": "array"}, "n": {"type": "null"},
		"si": {"type": ["string", "integer"]}, "opt": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
		"os": {"type": ["string", "null"]}, "e": {"enum": ["1", true]}, "r": {"$ref": "#/$defs/size"},
		"loop": {"$ref": "#/$defs/loop"}, "any": {}}}}}, {"name": "g"}, 7, {"function": {}}]`))
	if err != nil {
		t.Fatal(err)
	}
	return v.(jinja.List)
}

// function and pair are one call with one argument in the two styles.
func function(key, value string) string {
	return "<tool_call>\n<function=f>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>\n</tool_call>"
}

func pair(key, value string) string {
	return "<tool_call>f\n<arg_key>" + key + "</arg_key>\n<arg_value>" + value + "</arg_value>\n</tool_call>"
}

// Arguments have the types that the tool's schema says, and are text where that cannot be.
func TestArgumentTypes(t *testing.T) {
	for _, c := range []struct{ key, text, function, pair string }{
		{"s", "5", `"5"`, ""}, {"s", "null", `"null"`, ""}, {"s", `{"a": 1}`, `"{\"a\": 1}"`, ""},
		{"s", " a ", `" a "`, ""}, {"s", "", `""`, ""}, {"s", "<b>&amp;", `"<b>&amp;"`, ""},
		{"s", "a\n\n b\n", `"a\n\n b\n"`, ""}, {"s", "\na", `"\na"`, ""},
		{"i", "5", "5", ""}, {"i", " -5 ", "-5", ""}, {"i", "five", `"five"`, ""}, {"i", "[5]", `"[5]"`, ""},
		{"i", "12345678901234567890123", `"12345678901234567890123"`, ""}, {"i", "True", `"True"`, ""},
		{"x", "1.50", "1.5", ""}, {"x", "2", "2", ""}, {"x", "1e5", "100000.0", ""}, {"x", "nan", `"nan"`, ""},
		{"b", "true", "true", ""}, {"b", "False", "false", ""}, {"b", "yes", `"yes"`, ""}, {"b", "1", `"1"`, ""},
		{"o", `{"z": 1, "a": [null]}`, `{"z": 1, "a": [null]}`, ""}, {"o", "{'z': 1}", `"{'z': 1}"`, ""},
		{"a", "[1, \"b\"]\n", `[1, "b"]`, ""}, {"a", "1, 2", `"1, 2"`, ""},
		{"n", "null", "null", ""}, {"n", "None", "null", ""}, {"n", "none", `"none"`, ""},
		{"si", "5", "5", ""}, {"si", "five", `"five"`, ""}, {"opt", "7", "7", ""}, {"opt", "None", "null", ""},
		{"os", "null", "null", ""}, {"os", "5", `"5"`, ""}, {"e", "true", "true", ""}, {"e", "1", `"1"`, ""},
		{"r", "2", "2", ""}, {"i", `"5"`, `"\"5\""`, ""},
		{"any", "5", `"5"`, "5"}, {"loop", "5", `"5"`, "5"}, {"unknown", `{"a": 1}`, `"{\"a\": 1}"`, `{"a": 1}`},
		{"unknown", "five", `"five"`, ""}, {"any", `"a"`, `"\"a\""`, ""}, {"any", "True", `"True"`, ""},
	} {
		if c.pair == "" {
			c.pair = c.function
		}
		for style, text := range map[CallStyle]string{FunctionCalls: function(c.key, c.text),
			PairCalls: pair(c.key, c.text)} {
			m, err := ParseAnswer(text, style, toolList(t)...)
			want := map[CallStyle]string{FunctionCalls: c.function, PairCalls: c.pair}[style]
			if got := spell(m); got != `¦¦f{"`+c.key+`": `+want+`}` || err != nil {
				t.Errorf("style %d, %s of %q is %s, want %s: %v", style, c.key, c.text, got, want, err)
			}
		}
	}
}

func TestParseXMLCalls(t *testing.T) {
	for _, c := range []struct {
		style             CallStyle
		text, want, fault string
	}{
		{FunctionCalls, "Hi", "¦Hi", ""},
		{FunctionCalls, "<think>\nhm\n</think>\n\nI look.\n\n" + function("i", "1") + "\n" +
			function("s", "</tool_call>"), `hm¦I look.¦f{"i": 1}¦f{"s": "</tool_call>"}`, ""},
		{FunctionCalls, function("s", "a </parameter> b\n</function>"),
			`¦¦f{"s": "a </parameter> b\n</function>"}`, ""},
		{FunctionCalls, "<tool_call><function=g></function></tool_call>Done.", "¦Done.¦g{}", ""},
		{FunctionCalls, "<tool_call> <function=f> <parameter=s>a</parameter> <parameter=i>2</parameter> </function>",
			`¦¦f{"s": "a", "i": 2}`, ""},
		{FunctionCalls, "a\n<tool_call>\n<function=f>\n<parameter=s>\nx",
			"¦a\n<tool_call>\n<function=f>\n<parameter=s>\nx", "the parameter s: no </parameter>"},
		{FunctionCalls, `<tool_call>{"name": "f"}</tool_call>`, `¦<tool_call>{"name": "f"}</tool_call>`,
			"no <function=NAME>"},
		{FunctionCalls, "<tool_call><function=></function></tool_call>",
			"¦<tool_call><function=></function></tool_call>", "no <function=NAME>"},
		{FunctionCalls, "<tool_call><function=f>x</function></tool_call>",
			"¦<tool_call><function=f>x</function></tool_call>", "no <parameter=NAME>"},
		{FunctionCalls, "<tool_call><function=f></function> x</tool_call>" + function("i", "1"),
			"¦<tool_call><function=f></function> x</tool_call>" + `¦f{"i": 1}`, "there is text between </function>"},

		{PairCalls, "Hi", "¦Hi", ""},
		{PairCalls, "\n<think>hm</think>\nI look.\n" + pair("i", "1") + "\n" + pair("s", "</tool_call>\n"),
			`hm¦I look.¦f{"i": 1}¦f{"s": "</tool_call>\n"}`, ""},
		{PairCalls, "<tool_call>f<arg_key>s</arg_key><arg_value>a</arg_value><arg_key>i</arg_key>" +
			"<arg_value>2</arg_value></tool_call>", `¦¦f{"s": "a", "i": 2}`, ""},
		{PairCalls, "<tool_call>g</tool_call>\nDone.", "¦Done.¦g{}", ""},
		{PairCalls, pair("s", "a </arg_value> b"), `¦¦f{"s": "a </arg_value> b"}`, ""},
		{PairCalls, "<tool_call>g", "¦<tool_call>g", "no </tool_call>"},
		{PairCalls, "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a</arg_value>\n",
			"¦<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a</arg_value>", "the argument s: no </arg_value>"},
		{PairCalls, `<tool_call>{"name": "f"}</tool_call>`, `¦<tool_call>{"name": "f"}</tool_call>`,
			"is not the name of a tool"},
		{PairCalls, "<tool_call></tool_call>", "¦<tool_call></tool_call>", "is not the name of a tool"},
		{PairCalls, "<tool_call>f<arg_key>s</arg_key></tool_call>", "¦<tool_call>f<arg_key>s</arg_key></tool_call>",
			"neither </tool_call> nor a key with a value"},
		{PairCalls, "<tool_call>f<arg_key></arg_key><arg_value>a</arg_value></tool_call>",
			"¦<tool_call>f<arg_key></arg_key><arg_value>a</arg_value></tool_call>", "neither </tool_call> nor"},
	} {
		m, err := ParseAnswer(c.text, c.style, toolList(t)...)
		if got := spell(m); got != c.want {
			t.Errorf("ParseAnswer(%q)\n got %q\nwant %q", c.text, got, c.want)
		}
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("ParseAnswer(%q): error %v, want %q", c.text, err, c.fault)
		}
	}
}

// xmlTemplate is a template of testdata.
func xmlTemplate(t testing.TB, name string) *Template {
	t.Helper()
	source, err := os.ReadFile("testdata/" + name + ".jinja")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := New(string(source), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// What a template writes of any calls is read back as these calls, by the template's own style.
func TestXMLCallsReturn(t *testing.T) {
	tools := toolList(t)
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("ab <>/\n\t\"{}[]:,1é😀")), 0, 12, -1)
	one := rapid.OneOf(texts, rapid.SampledFrom([]string{"null", "true", "5", "None", "</parameter>", "</tool_call>",
		"</arg_value>", "<tool_call>", "</function>", "\n", "<function=f>"}))
	values := map[string]*rapid.Generator[jinja.Value]{
		"s":  rapid.Map(one, func(s string) jinja.Value { return s }),
		"i":  rapid.Map(rapid.Int64(), func(n int64) jinja.Value { return n }),
		"b":  rapid.Map(rapid.Bool(), func(b bool) jinja.Value { return b }),
		"os": rapid.Map(texts, func(s string) jinja.Value { return jinja.Value(nil) }),
		"a":  rapid.Map(rapid.SliceOfN(one, 0, 3), func(list []string) jinja.Value { return listOf(list) }),
		"o": rapid.Map(rapid.SliceOfN(one, 0, 3), func(list []string) jinja.Value {
			m := &jinja.Map{}
			for i, s := range list {
				m.Set(string(rune('a'+i)), s)
			}
			return m
		}),
	}
	for name, style := range map[string]CallStyle{"functions": FunctionCalls, "pairs": PairCalls} {
		tmpl := xmlTemplate(t, name)
		if got := tmpl.CallStyle(); got != style {
			t.Fatalf("%s: CallStyle = %d, want %d", name, got, style)
		}
		rapid.Check(t, func(t *rapid.T) {
			var calls jinja.List
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				arguments := &jinja.Map{}
				names := rapid.SampledFrom([]string{"s", "i", "b", "os", "a", "o"})
				for _, key := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "keys") {
					arguments.Set(key, values[key].Draw(t, key))
				}
				calls = append(calls, newCall("f", arguments))
			}
			messages := []Message{{Role: "user", Content: "Hi"},
				{Role: "assistant", Content: "Look.", ToolCalls: calls}}
			before, err1 := tmpl.Render(messages[:1], Options{Tools: tools, AddGenerationPrompt: true})
			whole, err2 := tmpl.Render(messages, Options{Tools: tools})
			answer, follows := strings.CutPrefix(whole, before)
			if err1 != nil || err2 != nil || !follows {
				t.Fatal(err1, err2, follows)
			}
			said, err := ParseAnswer(strings.TrimSuffix(answer, "<|im_end|>\n"), style, tools...)
			if err != nil || said.Content != "Look." || !reflect.DeepEqual(said.ToolCalls, calls) {
				t.Fatalf("%q is read back as %s, want %s: %v", answer, spell(said), spell(messages[1]), err)
			}
		})
	}
}

func listOf(texts []string) jinja.List {
	out := jinja.List{}
	for _, s := range texts {
		out = append(out, s)
	}
	return out
}
