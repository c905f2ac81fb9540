package openai

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
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
	{"llama's tag", "I look.\n<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", chat.LlamaCalls, false,
		part{content: "I look.", calls: []call{{"f", "{}"}}}},
}

func TestSplit(t *testing.T) {
	for _, c := range answers {
		split := func() *splitter {
			s := &splitter{style: c.style}
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

// However an answer is cut into pieces, the parts are the same and nothing is lost.
func TestSplitDoesNotDependOnPieces(t *testing.T) {
	marks := []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "\n", " ", "a", "ä",
		`{"name":"f","arguments":{}}`, "{", "<", "tool_", "</th"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(marks), 0, 12).Draw(t, "text"), "")
		style := rapid.SampledFrom([]chat.CallStyle{chat.NoCalls, chat.QwenCalls, chat.LlamaCalls}).Draw(t, "style")
		want := all(&splitter{style: style}, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := all(&splitter{style: style}, pieces...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in pieces %q: %+v, whole %+v", text, pieces, got, want)
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
