package speech

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

func loadTiny(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load("../../../../examples/tiny/model")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// all divides a text that is written in pieces.
func all(s *Splitter, pieces ...string) Part {
	var out Part
	for _, text := range pieces {
		add(&out, s.Write(text))
	}
	add(&out, s.End())
	return out
}

func add(to *Part, p Part) {
	to.Reasoning += p.Reasoning
	to.Content += p.Content
	to.Calls = append(to.Calls, p.Calls...)
}

var answers = []struct {
	name, text string
	style      chat.CallStyle
	inside     bool
	want       Part
}{
	{"plain", "Hello.\n", chat.NoCalls, false, Part{Content: "Hello.\n"}},
	{"empty", "", chat.QwenCalls, false, Part{}},
	{"marks are text without tools", "a <tool_call> b", chat.NoCalls, false, Part{Content: "a <tool_call> b"}},
	{"a thought", "<think>\nIt is 4.\n</think>\n\n4", chat.NoCalls, false,
		Part{Reasoning: "It is 4.", Content: "4"}},
	{"a thought that the prompt begins", "\nIt is 4.\n\nYes.\n</think>\n\n4\n", chat.NoCalls, true,
		Part{Reasoning: "It is 4.\n\nYes.", Content: "4\n"}},
	{"a thought that is cut", "<think>\nIt is\n", chat.NoCalls, false, Part{Reasoning: "It is"}},
	{"almost a thought", "<thin air", chat.NoCalls, false, Part{Content: "<thin air"}},
	{"a call", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"x\"}}\n</tool_call>", chat.QwenCalls,
		false, Part{Calls: []Call{{"f", `{"b":1,"a":"x"}`}}}},
	{"thought, text, two calls, text", "<think>t</think>Let me.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}" +
		"</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{\"x\":[1]}}</tool_call>\nDone.", chat.QwenCalls, false,
		Part{Reasoning: "t", Content: "Let me.\nDone.", Calls: []Call{{"f", "{}"}, {"g", `{"x":[1]}`}}}},
	{"the mark of the end within an argument",
		`<tool_call>{"name":"f","arguments":{"s":"</tool_call>"}}</tool_call>`, chat.QwenCalls, false,
		Part{Calls: []Call{{"f", `{"s":"</tool_call>"}`}}}},
	{"a call that is cut after its JSON", `<tool_call>{"name":"f","arguments":{}}`, chat.QwenCalls, false,
		Part{Calls: []Call{{"f", "{}"}}}},
	{"not a call", "a\n<tool_call>\nnonsense\n</tool_call>", chat.QwenCalls, false,
		Part{Content: "a\n<tool_call>\nnonsense\n</tool_call>"}},
	{"llama", `{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {}}`, chat.LlamaCalls, false,
		Part{Calls: []Call{{"f", `{"x":1}`}, {"g", "{}"}}}},
	{"llama's JSON that is no call", `{"x": 1}`, chat.LlamaCalls, false, Part{Content: `{"x": 1}`}},
	{"thought, text, two calls in tags, text", "<think>t</think>\n\nLet me.\n\n<tool_call>\n<function=f>\n" +
		"<parameter=s>\na\n\n</tool_call>\n</parameter>\n<parameter=i>\n2\n</parameter>\n</function>\n" +
		"</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>\nDone.", chat.FunctionCalls, false,
		Part{Reasoning: "t", Content: "Let me.\nDone.",
			Calls: []Call{{"f", `{"s":"a\n\n</tool_call>","i":2}`}, {"g", "{}"}}}},
	{"a call in tags that is cut after its end",
		"<tool_call>\n<function=f>\n<parameter=i>\nx\n</parameter>\n</function>", chat.FunctionCalls, false,
		Part{Calls: []Call{{"f", `{"i":"x"}`}}}},
	{"a call in tags that is cut", "a\n<tool_call>\n<function=f>\n<parameter=i>\n1", chat.FunctionCalls, false,
		Part{Content: "a\n<tool_call>\n<function=f>\n<parameter=i>\n1"}},
	{"a thought's end within an argument",
		"<tool_call><function=f><parameter=s></think></parameter></function></tool_call>", chat.FunctionCalls, false,
		Part{Calls: []Call{{"f", `{"s":"</think>"}`}}}},
	{"two calls in pairs", "\n<think>t</think>\nLet me.\n<tool_call>f\n<arg_key>s</arg_key>\n" +
		"<arg_value>1</arg_value>\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n" +
		"<tool_call>g\n</tool_call>", chat.PairCalls, false,
		Part{Reasoning: "t", Content: "Let me.", Calls: []Call{{"f", `{"s":"1","i":1}`}, {"g", "{}"}}}},
	{"a call in pairs that is cut", "<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>", chat.PairCalls,
		false, Part{Content: "<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>"}},
	{"not a call in pairs", "<tool_call>{}</tool_call>", chat.PairCalls, false,
		Part{Content: "<tool_call>{}</tool_call>"}},
	{"harmony", "<|channel|>analysis<|message|>It is\n4.<|end|><|start|>assistant<|channel|>final<|message|>4" +
		"<|return|>", chat.HarmonyCalls, false, Part{Reasoning: "It is\n4.", Content: "4"}},
	{"harmony: thoughts, text, two calls", "<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>" +
		"commentary<|message|>Let me.<|end|><|start|>assistant<|channel|>commentary to=functions.f " +
		"<|constrain|>json<|message|>{\"i\":1}<|call|><|start|>assistant to=functions.g<|channel|>commentary json" +
		"<|message|>{}<|call|>", chat.HarmonyCalls, false,
		Part{Reasoning: "t", Content: "Let me.", Calls: []Call{{"f", `{"i":1}`}, {"g", "{}"}}}},
	{"harmony: a call that is cut", " to=functions.f<|channel|>commentary json<|message|>{\"i\":", chat.HarmonyCalls,
		false, Part{Content: "{\"i\":"}},
	{"harmony: a header that is cut", "<|channel|>final<|message|>4<|end|><|start|>assist", chat.HarmonyCalls, false,
		Part{Content: "4"}},
	{"harmony: no end, two texts", "Hi<|start|>assistant<|channel|>final<|message|>4", chat.HarmonyCalls, false,
		Part{Content: "Hi\n4"}},
	{"llama's tag", "I look.\n<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", chat.LlamaCalls, false,
		Part{Content: "I look.", Calls: []Call{{"f", "{}"}}}},
}

func TestSplit(t *testing.T) {
	for _, c := range answers {
		split := func() *Splitter {
			s := &Splitter{Style: c.style, Tools: typedTools(t)}
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
	one := &Splitter{Style: chat.QwenCalls, One: true}
	if got := all(one, answers[8].text); len(got.Calls) != 1 || got.Calls[0].Name != "f" {
		t.Errorf("without parallel calls: %+v", got.Calls)
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
var styles = []chat.CallStyle{chat.NoCalls, chat.QwenCalls, chat.LlamaCalls, chat.FunctionCalls, chat.PairCalls,
	chat.HarmonyCalls}

// marks are what answers are made of: marks, calls that are whole, and the ends of such.
var marks = []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "\n", " ", "a", "ä",
	`{"name":"f","arguments":{}}`, "{", "<", "tool_", "</th", "<function=f>", "</function>", "<parameter=s>",
	"</parameter>", "\n1\n", "f\n", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "i",
	`<tool_call>{"name":"g","arguments":{"s":"</tool_call>"}}</tool_call>`,
	"<tool_call>\n<function=f>\n<parameter=i>\n1\n</parameter>\n</function>\n</tool_call>",
	"<tool_call><function=f><parameter=s>\n", "\n</parameter></function></tool_call>",
	"<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
	"<tool_call>f<arg_key>s</arg_key><arg_value>", "</arg_value></tool_call>", "<tool_call>g</tool_call>",
	"<|start|>assistant", "<|channel|>analysis", "<|channel|>final", "<|channel|>commentary to=functions.f ", " to=g",
	"<|constrain|>json", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "{}"}

// However an answer is cut into pieces, the parts are the same and nothing is lost.
func TestSplitDoesNotDependOnPieces(t *testing.T) {
	tools := typedTools(t)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(marks), 0, 12).Draw(t, "text"), "")
		style := rapid.SampledFrom(styles).Draw(t, "style")
		want := all(&Splitter{Style: style, Tools: tools}, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := all(&Splitter{Style: style, Tools: tools}, pieces...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in pieces %q: %+v, whole %+v", text, pieces, got, want)
		}
		if fault := unlikeAnswer(text, style, tools, want); fault != "" {
			t.Fatal(fault)
		}
	})
}

// unlikeAnswer tells how parts differ from the message that package chat reads; "" if they do not. Newlines where an
// answer is cut may differ, and thoughts that begin without a mark: a stream does not know of them.
func unlikeAnswer(text string, style chat.CallStyle, tools jinja.List, got Part) string {
	if strings.Contains(text, "</think>") {
		return ""
	}
	m, _ := chat.ParseAnswer(text, style, tools...)
	var want Part
	(&Splitter{}).add(&want, m.ToolCalls)
	content := func(s string) string { return strings.NewReplacer("\n", "", "\r", "").Replace(s) }
	if !reflect.DeepEqual(got.Calls, want.Calls) || content(got.Content) != content(m.Content) ||
		content(got.Reasoning) != content(m.Reasoning) {
		return fmt.Sprintf("style %d: %q is %+v; chat reads %+v with the calls %+v", style, text, got, m, want.Calls)
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
			want := all(&Splitter{Style: style, Tools: tools}, text)
			r, split, got := rand.New(rand.NewPCG(seed, 1)), &Splitter{Style: style, Tools: tools}, Part{}
			for rest := text; rest != ""; {
				n := 1 + r.IntN(len(rest))
				add(&got, split.Write(rest[:n]))
				rest = rest[n:]
			}
			add(&got, split.End())
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
		s := &Speech{Decoder: tok.NewDecoder(true), Stops: stops}
		said := ""
		for _, id := range tok.Encode(text, false) {
			said += s.Write(id)
			if !utf8.ValidString(said) || !strings.HasPrefix(text, said) {
				t.Fatalf("after a token of %q: %q", text, said)
			}
		}
		said += s.End()
		want := text
		if at, _ := FirstOf(text, stops); at >= 0 {
			want = text[:at]
		}
		if said != want {
			t.Fatalf("%q with stops %q: said %q, want %q", text, stops, said, want)
		}
	})
}
