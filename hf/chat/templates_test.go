package chat

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// templateCases is a file in the form of testdata/golden.json, with whose tests this one shares the reader.
// bench/templates makes it of the templates of a folder and names it in the environment.
func templateCases() string { return os.Getenv("TRINITY_TEST_TEMPLATES") }

// tally is how the cases of templates came out.
type tally struct{ cases, refused, masks int }

// TestTemplates renders all templates of a folder as transformers does, byte for byte; what that refuses is refused
// here.
func TestTemplates(t *testing.T) {
	if templateCases() == "" {
		t.Skip("go run ./bench templates DIR")
	}
	tok, err := tokenizer.Load("../tokenizer/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(templateCases())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 256<<20)
	var all tally
	templates := 0
	for lines.Scan() {
		v, err := jinja.DecodeJSON(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m := v.(*jinja.Map)
		templates++
		t.Run(member[string](m, "name"), func(t *testing.T) {
			n := compareTemplate(t, tok, m)
			all.cases, all.refused, all.masks = all.cases+n.cases, all.refused+n.refused, all.masks+n.masks
		})
	}
	if err := lines.Err(); err != nil || templates == 0 {
		t.Fatalf("%d templates: %v", templates, err)
	}
	t.Logf("%d templates, %d cases, %d of them refused by both, %d masks", templates, all.cases, all.refused, all.masks)
}

// compareTemplate renders the cases of one template and shows the first that differ. It also tells of templates that do
// not themselves write one BOS.
func compareTemplate(t *testing.T, tok *tokenizer.Tokenizer, m *jinja.Map) (n tally) {
	source := member[string](m, "template")
	bad, broken := 0, ""
	for _, c := range member[jinja.List](m, "cases") {
		g := readGolden(c.(*jinja.Map))
		n.cases++
		fault := compareCase(tok, source, &g, &n)
		if fault != "" && bad < 3 {
			t.Errorf("%s: %s", g.name, fault)
		}
		if fault != "" {
			bad++
		}
		if broken == "" && strings.Contains(source, "bos_token") && !g.fails &&
			strings.Count(g.text, g.config.BOSToken) != 1 {
			broken = g.name
		}
	}
	note := readBack(source)
	if broken != "" {
		note += "; not one BOS: " + broken
	}
	t.Logf("%s: %d cases, %d differ, %d refused by both, %d masks%s", member[string](m, "name"), n.cases, bad,
		n.refused, n.masks, note)
	return n
}

// readBack renders an answer that calls a tool and reads the call back out of the text, as of a model's answer. It says
// what came of it for templates in whose style calls are read.
func readBack(source string) string {
	tmpl, err := New(source, &tokenizer.Config{BOSToken: "<|begin|>", EOSToken: "<|im_end|>"}, time.Time{})
	if err != nil || tmpl.CallStyle() == NoCalls {
		return ""
	}
	v, err := jinja.DecodeJSON([]byte(`{"tools": [{"type": "function", "function": {"name": "get_weather", ` +
		`"description": "d", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}],
		"calls": [{"type": "function", "id": "abcdefghi", "function": {"name": "get_weather", "arguments": {"city": ` +
		`"Zürich", "n": [1, {"x": null}]}}}]}`))
	if err != nil {
		return err.Error()
	}
	tools, calls := member[jinja.List](v.(*jinja.Map), "tools"), member[jinja.List](v.(*jinja.Map), "calls")
	messages := []Message{{Role: "user", Content: "Weather?"}, {Role: "assistant", ToolCalls: calls}}
	before, err1 := tmpl.Render(messages[:1], Options{Tools: tools, AddGenerationPrompt: true})
	whole, err2 := tmpl.Render(messages, Options{Tools: tools})
	answer, ok := strings.CutPrefix(whole, before)
	if err1 != nil || err2 != nil || !ok {
		return "; its calls do not follow the generation prompt"
	}
	for _, stop := range []string{"<|im_end|>", "<|eot_id|>", "<|eom_id|>"} {
		answer, _, _ = strings.Cut(answer, stop)
	}
	said, err := ParseAnswer(answer, tmpl.CallStyle())
	if err != nil || len(said.ToolCalls) != 1 {
		return fmt.Sprintf("; a call is not read back out of %.120q: %v", answer, err)
	}
	got, want := callText(said.ToolCalls[0]), callText(calls[0])
	if got != want {
		return fmt.Sprintf("; a call is read back as %s", got)
	}
	return "; a call is read back"
}

// callText is the name and the arguments of a call.
func callText(v jinja.Value) string {
	f := member[*jinja.Map](v.(*jinja.Map), "function")
	tmpl, err := jinja.Parse("{{ name }} {{ arguments|tojson }}")
	if err != nil {
		return err.Error()
	}
	res, err := tmpl.Render(f, jinja.Options{})
	if err != nil {
		return err.Error()
	}
	return res.Text
}

// compareCase returns what differs, "" for nothing.
func compareCase(tok *tokenizer.Tokenizer, source string, g *golden, n *tally) string {
	tmpl, err := New(source, &g.config, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var text string
	if err == nil {
		text, err = tmpl.Render(g.messages, g.options)
	}
	switch {
	case err != nil && g.fails:
		n.refused++
		return ""
	case err != nil:
		return err.Error()
	case g.fails:
		return "transformers refuses it"
	case text != g.text:
		at := common(text, g.text)
		from := max(0, at-30)
		return fmt.Sprintf("at byte %d got %q, want %q", at, text[from:min(len(text), at+60)],
			g.text[from:min(len(g.text), at+60)])
	}
	if ids, err := tmpl.Encode(tok, g.messages, g.options); err != nil || !slices.Equal(ids, g.ids) {
		return "the ids differ"
	}
	if g.mask == nil || g.options.AddGenerationPrompt { // Conversation is of whole conversations
		return ""
	}
	n.masks++
	if c, err := tmpl.Conversation(tok, g.messages, g.options); err != nil || !slices.Equal(c.Mask, g.mask) {
		return "the mask differs"
	}
	return ""
}
