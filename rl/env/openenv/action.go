package openenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mistake tells the player why its answer is no action.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

func mistakef(format string, args ...any) error { return &mistake{fmt.Sprintf(format, args...)} }

// action reads the answer of a player, by the rules of verifiers' task set for OpenEnv: one fence of code is taken off;
// a JSON object is the action; any other text is the value of the only field that the schema requires. A template says
// which field is filled instead, and which part of the answer counts.
func (k *kind) action(answer string) (json.RawMessage, error) {
	t := &k.args.template
	if t.extract != nil {
		found := t.extract.FindAllStringSubmatch(answer, -1)
		if found == nil {
			return nil, mistakef("The answer has nothing of the form %s.", t.extract)
		}
		last := found[len(found)-1]
		answer = last[len(last)-1] // the last group, or the whole match
	}
	if t.fill != "" {
		return encode(map[string]any{t.fill: k.schema.Properties[t.fill].value(answer)})
	}
	text := unfence(answer)
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) == nil && object != nil && strings.TrimSpace(text[d.InputOffset():]) == "" {
		return encode(object)
	}
	if only := k.schema.only(); only != "" {
		return encode(map[string]any{only: k.schema.Properties[only].value(text)})
	}
	return nil, mistakef("The answer is not a JSON object with the fields %s.",
		strings.Join(slices.Sorted(maps.Keys(k.schema.Properties)), ", "))
}

// unfence removes a code fence around the whole text.
func unfence(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "```") || !strings.HasSuffix(trimmed, "```") || len(trimmed) < 6 {
		return trimmed
	}
	inside := trimmed[3 : len(trimmed)-3]
	if word, rest, ok := strings.Cut(inside, "\n"); ok && !strings.ContainsAny(strings.TrimSpace(word), " {[\"") {
		inside = rest
	}
	return strings.TrimSpace(inside)
}

func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), err
}

// refusal is the outcome of an action that the server does not accept: the player's mistake, or a schema that does not
// hold.
func (k *kind) refusal(action json.RawMessage, f *fault) error {
	var fields map[string]json.RawMessage
	shape := slices.ContainsFunc(f.Errors, func(e fieldError) bool {
		return e.Type == "missing" || e.Type == "extra_forbidden"
	})
	if json.Unmarshal(action, &fields) == nil && shape && !k.tools && k.schema.allows(fields) {
		return fmt.Errorf("the server refuses an action that its own /schema allows, %s: %w; the server is wrong: "+
			"its environment takes other actions than it declares", cut(string(action), 200), f)
	}
	var list []string
	for _, e := range f.Errors {
		list = append(list, e.String())
	}
	return mistakef("The action is not valid: %s.", cut(strings.Join(list, "; "), 1000))
}
