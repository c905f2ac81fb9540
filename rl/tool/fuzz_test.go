package tool

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// blockPatterns are GEM's own.
var blockPatterns = []*regexp.Regexp{regexp.MustCompile(`(?s)<python>(.*?)</python>`),
	regexp.MustCompile("(?s)```\n?python(.*?)```")}

// FuzzFindCode compares the search for code with GEM's patterns and its rule: the block that ends first counts, and of
// two that end together the fence.
func FuzzFindCode(f *testing.F) {
	for _, s := range []string{"<python>print(1)</python>", "```python\nx\n```", "```\npython\nx```<python>",
		"``````python```",
		"<python>```python\na```</python>", "```python```python```", "<python><python></python>",
		"```\n```python a```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, action string) {
		code, until, ok := findCode(action)
		want, end, found := "", len(action), false
		for _, p := range blockPatterns {
			if m := p.FindStringSubmatchIndex(action); m != nil && m[1] <= end {
				want, end, found = strings.Trim(action[m[2]:m[3]], pythonSpace), m[1], true
			}
		}
		if found = found && want != ""; ok != found || ok && (code != want || until != end) {
			t.Errorf("%q: %q, %d, %v; want %q, %d, %v", action, code, until, ok, want, end, found)
		}
	})
}

func FuzzFindQuery(f *testing.F) {
	f.Add("a <search> b </search> c")
	f.Add("</search><search></search>")
	pattern := regexp.MustCompile(`(?s)<search>(.*?)</search>`)
	f.Fuzz(func(t *testing.T, action string) {
		query, until, ok := findQuery(action)
		m := pattern.FindStringSubmatchIndex(action)
		if ok != (m != nil) || ok && (until != m[1] || query != strings.Trim(action[m[2]:m[3]], pythonSpace)) {
			t.Errorf("%q: %q, %d, %v; want %v", action, query, until, ok, m)
		}
	})
}

func FuzzFindCall(f *testing.F) {
	f.Add(`<tool_call><tool_name>a</tool_name><arguments>{"x": [1, 2.50, "é😀\n"]}</arguments></tool_call>`)
	f.Add(`<tool_call> <tool_name> b </tool_name> <arguments></arguments></tool_call>`)
	f.Fuzz(func(t *testing.T, action string) {
		c, ok := findCall(action)
		if !ok {
			return
		}
		if !strings.Contains(action, c.block) || c.arguments == nil && !strings.Contains(action, "null") {
			t.Errorf("%q: %+v", action, c)
		}
		text, err := pythonJSON(c.arguments)
		if err != nil || !utf8.ValidString(text) {
			t.Errorf("%q: arguments %q, %v", action, text, err)
		}
	})
}

func FuzzReadDocuments(f *testing.F) {
	data, err := os.ReadFile("testdata/search_answer.msgpack")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("\x81\xa6result\x90"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := readDocuments(data); err == nil && len(list) > len(data) {
			t.Errorf("%d documents in %d bytes", len(list), len(data))
		}
	})
}

func FuzzParseServers(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["y"], "env": {"K": "v"}},
		"b": {"url": "http://h/mcp"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseServers(data)
		if err == nil && len(list) == 0 {
			t.Error("no server and no error")
		}
		for _, s := range list {
			if s.Command == "" && !strings.Contains(s.URL, "://") {
				t.Errorf("%q: %+v", data, s)
			}
		}
	})
}
