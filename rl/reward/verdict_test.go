package reward

import (
	"strings"
	"testing"
)

func TestFindJSON(t *testing.T) {
	for text, want := range map[string]string{
		`I say {"a": 1}, not {"b": 2}.`:                                  `{"a": 1} {"b": 2}`,
		"{x} is a set. ```json\n{\"a\": \"}\\\"{\"}\n```\n```\n{b}\n```": `{"a": "}\"{"}`,
		`{"a": {"b": [1, 2]}}`:                                           `{"a": {"b": [1, 2]}} {"b": [1, 2]} [1, 2]`,
		`{"a": 1`:                                                        ``,
		`[[1], {"a": 2`:                                                  `[1]`,
		`a "quote [1, 2]`:                                                `[1, 2]`,
		strings.Repeat("[", 1<<16) + "[1]" + strings.Repeat("]", 31): "many",
		strings.Repeat(`["`, 1<<16):                                  ``,
		strings.Repeat(`{"\"`, 1<<18):                                ``, // quadratic without a limit of work
		``:                                                           ``,
	} {
		var got []string
		FindJSON(text, func(raw []byte) bool { got = append(got, string(raw)); return false })
		if want == "many" && len(got) == 32 {
			continue
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.80s: %q, want %q", text, got, want)
		}
	}
	if !FindJSON("[1] [2]", func(raw []byte) bool { return string(raw) == "[2]" }) {
		t.Error("the value that fits was not found")
	}
}
