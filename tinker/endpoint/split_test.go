package endpoint

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

const tinyModel = "../../examples/tiny/model"

func loadTiny(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// all divides a text that is written in pieces.
func all(s *splitter, pieces ...string) part {
	var out part
	for _, text := range pieces {
		add(&out, s.write(text))
	}
	add(&out, s.end())
	return out
}

func add(to *part, p part) {
	to.reasoning += p.reasoning
	to.content += p.content
	to.calls = append(to.calls, p.calls...)
}

var answers = []struct {
	name, text string
	style      chat.CallStyle
	inside     bool
	want       part
}{
	{"plain", "Hello.\n", chat.NoCalls, false, part{content: "Hello.\n"}},
	{"empty", "", chat.QwenCalls, false, part{}},
	{"marks are text without tools", "a <tool_call> b", chat.NoCalls, false, part{content: "a <tool_call> b"}},
	{"a thought", "<think>\nIt is 4.\n</think>\n\n4", chat.NoCalls, false,
		part{reasoning: "It is 4.", content: "4"}},
	{"a thought that the prompt begins", "\nIt is 4.\n\nYes.\n</think>\n\n4\n", chat.NoCalls, true,
		part{reasoning: "It is 4.\n\nYes.", content: "4\n"}},
	{"a thought that is cut", "<think>\nIt is\n", chat.NoCalls, false, part{reasoning: "It is"}},
	{"almost a thought", "<thin air", chat.NoCalls, false, part{content: "<thin air"}},
	{"a call", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"x\"}}\n</tool_call>", chat.QwenCalls,
		false, part{calls: []call{{"f", `{"b":1,"a":"x"}`}}}},
	{"thought, text, two calls, text", "<think>t</think>Let me.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}" +
		"</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{\"x\":[1]}}</tool_call>\nDone.", chat.QwenCalls, false,
		part{reasoning: "t", content: "Let me.\nDone.", calls: []call{{"f", "{}"}, {"g", `{"x":[1]}`}}}},
	{"the mark of the end within an argument",
		`<tool_call>{"name":"f","arguments":{"s":"</tool_call>"}}</tool_call>`, chat.QwenCalls, false,
		part{calls: []call{{"f", `{"s":"</tool_call>"}`}}}},
	{"a call that is cut after its JSON", `<tool_call>{"name":"f","arguments":{}}`, chat.QwenCalls, false,
		part{calls: []call{{"f", "{}"}}}},
	{"not a call", "a\n<tool_call>\nnonsense\n</tool_call>", chat.QwenCalls, false,
		part{content: "a\n<tool_call>\nnonsense\n</tool_call>"}},
	{"llama", `{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {}}`, chat.LlamaCalls, false,
		part{calls: []call{{"f", `{"x":1}`}, {"g", "{}"}}}},
	{"llama's JSON that is no call", `{"x": 1}`, chat.LlamaCalls, false, part{content: `{"x": 1}`}},
	{"thought, text, two calls in tags, text", "<think>t</think>\n\nLet me.\n\n<tool_call>\n<function=f>\n" +
		"<parameter=s>\na\n\n</tool_call>\n</parameter>\n<parameter=i>\n2\n</parameter>\n</function>\n" +
		"</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>\nDone.", chat.FunctionCalls, false,
		part{reasoning: "t", content: "Let me.\nDone.",
			calls: []call{{"f", `{"s":"a\n\n</tool_call>","i":2}`}, {"g", "{}"}}}},
	{"a call in tags that is cut after its end",
		"<tool_call>\n<function=f>\n<parameter=i>\nx\n</parameter>\n</function>", chat.FunctionCalls, false,
		part{calls: []call{{"f", `{"i":"x"}`}}}},
	{"a call in tags that is cut", "a\n<tool_call>\n<function=f>\n<parameter=i>\n1", chat.FunctionCalls, false,
		part{content: "a\n<tool_call>\n<function=f>\n<parameter=i>\n1"}},
	{"a thought's end within an argument",
		"<tool_call><function=f><parameter=s></think></parameter></function></tool_call>", chat.FunctionCalls, false,
		part{calls: []call{{"f", `{"s":"</think>"}`}}}},
	{"two calls in pairs", "\n<think>t</think>\nLet me.\n<tool_call>f\n<arg_key>s</arg_key>\n" +
		"<arg_value>1</arg_value>\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n" +
		"<tool_call>g\n</tool_call>", chat.PairCalls, false,
		part{reasoning: "t", content: "Let me.", calls: []call{{"f", `{"s":"1","i":1}`}, {"g", "{}"}}}},
	{"a call in pairs that is cut", "<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>", chat.PairCalls,
		false, part{content: "<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>"}},
	{"not a call in pairs", "<tool_call>{}</tool_call>", chat.PairCalls, false,
		part{content: "<tool_call>{}</tool_call>"}},
	{"llama's tag", "I look.\n<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", chat.LlamaCalls, false,
		part{content: "I look.", calls: []call{{"f", "{}"}}}},
}

func TestSplit(t *testing.T) {
	for _, c := range answers {
		split := func() *splitter {
			s := &splitter{style: c.style, tools: typedTools(t)}
			if c.inside {
				s.at = inThought
			}
			return s
		}
		if got := all(split(), c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if got := all(split(), strings.Split(c.text, "")...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, byte by byte: %+v, want %+v", c.name, got, c.want)
		}
	}
	one := &splitter{style: chat.QwenCalls, one: true}
	if got := all(one, answers[8].text); len(got.calls) != 1 || got.calls[0].name != "f" {
		t.Errorf("without parallel calls: %+v", got.calls)
	}
}

// typedTools are a tool f whose parameters s and i are a text and a number, and a tool g.
func typedTools(t testing.TB) jinja.List {
	t.Helper()
	v, err := jinja.DecodeJSON([]byte(`[{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
		`"properties":{"s":{"type":"string"},"i":{"type":"integer"}}}}},{"type":"function","function":{"name":"g"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	return v.(jinja.List)
}

// styles are all styles of calls.
var styles = []chat.CallStyle{chat.NoCalls, chat.QwenCalls, chat.LlamaCalls, chat.FunctionCalls, chat.PairCalls}

// marks are what answers are made of: marks, calls that are whole, and the ends of such.
var marks = []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "\n", " ", "a", "ä",
	`{"name":"f","arguments":{}}`, "{", "<", "tool_", "</th", "<function=f>", "</function>", "<parameter=s>",
	"</parameter>", "\n1\n", "f\n", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "i",
	`<tool_call>{"name":"g","arguments":{"s":"</tool_call>"}}</tool_call>`,
	"<tool_call>\n<function=f>\n<parameter=i>\n1\n</parameter>\n</function>\n</tool_call>",
	"<tool_call><function=f><parameter=s>\n", "\n</parameter></function></tool_call>",
	"<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
	"<tool_call>f<arg_key>s</arg_key><arg_value>", "</arg_value></tool_call>", "<tool_call>g</tool_call>"}

// However an answer is cut into pieces, the parts are the same and nothing is lost.
func TestSplitDoesNotDependOnPieces(t *testing.T) {
	tools := typedTools(t)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(marks), 0, 12).Draw(t, "text"), "")
		style := rapid.SampledFrom(styles).Draw(t, "style")
		want := all(&splitter{style: style, tools: tools}, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := all(&splitter{style: style, tools: tools}, pieces...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in pieces %q: %+v, whole %+v", text, pieces, got, want)
		}
		if fault := unlikeAnswer(text, style, tools, want); fault != "" {
			t.Fatal(fault)
		}
	})
}

// unlikeAnswer tells how parts differ from the message that package chat reads; "" if they do not. Newlines where an
// answer is cut may differ, and thoughts that begin without a mark: a stream does not know of them.
func unlikeAnswer(text string, style chat.CallStyle, tools jinja.List, got part) string {
	if strings.Contains(text, "</think>") {
		return ""
	}
	m, _ := chat.ParseAnswer(text, style, tools...)
	var want part
	(&splitter{}).add(&want, m.ToolCalls)
	content := func(s string) string { return strings.NewReplacer("\n", "", "\r", "").Replace(s) }
	if !reflect.DeepEqual(got.calls, want.calls) || content(got.content) != content(m.Content) ||
		content(got.reasoning) != content(m.Reasoning) {
		return fmt.Sprintf("style %d: %q is %+v; chat reads %+v with the calls %+v", style, text, got, m, want.calls)
	}
	return ""
}

// FuzzSplit: the same holds for any text.
func FuzzSplit(f *testing.F) {
	for i, m := range marks {
		f.Add(m+"x"+marks[(i*7)%len(marks)], uint64(i))
	}
	for _, c := range answers {
		f.Add(c.text, uint64(len(c.text)))
	}
	tools := typedTools(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 2000 {
			return
		}
		for _, style := range styles {
			want := all(&splitter{style: style, tools: tools}, text)
			r, split, got := rand.New(rand.NewPCG(seed, 1)), &splitter{style: style, tools: tools}, part{}
			for rest := text; rest != ""; {
				n := 1 + r.IntN(len(rest))
				add(&got, split.write(rest[:n]))
				rest = rest[n:]
			}
			add(&got, split.end())
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("style %d, %q: %+v, whole %+v", style, text, got, want)
			}
			if fault := unlikeAnswer(text, style, tools, want); fault != "" {
				t.Fatal(fault)
			}
		}
	})
}

// The text of a stream is that of all tokens up to the first stop string, in whole characters.
func TestSpeech(t *testing.T) {
	tok := loadTiny(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abä€😀 \n")), 0, 30, -1).Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abä€ ")), 1, 4, -1), 0, 3).Draw(t, "stops")
		s := &speech{decoder: tok.NewDecoder(true), stops: stops}
		said := ""
		for _, id := range tok.Encode(text, false) {
			said += s.write(id)
			if !utf8.ValidString(said) || !strings.HasPrefix(text, said) {
				t.Fatalf("after a token of %q: %q", text, said)
			}
		}
		said += s.end()
		want := text
		if at, _ := firstOf(text, stops); at >= 0 {
			want = text[:at]
		}
		if said != want {
			t.Fatalf("%q with stops %q: said %q, want %q", text, stops, said, want)
		}
	})
}
