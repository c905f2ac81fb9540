package endpoint

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/translate"
)

var update = flag.Bool("update", false, "write the table of refused parameters into docs/reference/endpoint.md")

const (
	refusedDoc   = "../../docs/reference/endpoint.md"
	refusedBegin = "<!-- refused: go test ./tinker/endpoint -run Refused -update -->\n"
	refusedEnd   = "<!-- end of the table -->\n"
)

// refusing is a route, or the parameters within one of its parameters, that refuses some by name.
type refusing struct {
	name  string
	call  func(*API) handler
	body  string         // of a good request, with %s for one more parameter, which begins with a comma
	table param.Refusals // of it, with what the parameters may be
}

// asked is a chat.
const asked = `"model":"tiny","messages":[{"role":"user","content":"Hi"}]`

func ollamaChat(a *API) handler { return a.OllamaChat }

// chatWithTokens refuses what chat does, and has no column.
var chatWithTokens = refusing{"", func(a *API) handler { return a.ChatTokens }, `{` + asked + `,"tokens":[5]%s}`,
	param.Unsupported}

func refusingRoutes() []refusing {
	return []refusing{
		{"chat", func(a *API) handler { return a.Chat }, `{` + asked + `%s}`, param.Unsupported},
		{"completions", func(a *API) handler { return a.Complete }, `{"model":"tiny","prompt":"Hi"%s}`,
			param.Unsupported},
		{"responses", respond, `{"model":"tiny","input":"Hi"%s}`, responseUnsupported},
		{"messages", func(a *API) handler { return a.Messages }, `{` + asked + `,"max_tokens":9%s}`,
			anthropicUnsupported},
		{"generate", generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"max_tokens":9}%s}`,
			generateUnsupported},
		{"its sampling_params", generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"max_tokens":9%s}}`,
			samplingUnsupported},
		{"Ollama", ollamaChat, `{` + asked + `,"stream":false%s}`, translate.OllamaUnsupported},
		{"its options", ollamaChat, `{` + asked + `,"stream":false,"options":{"seed":1%s}}`,
			translate.OllamaOptionsUnsupported},
	}
}

// cell says what a route does with a parameter: it asks with a value that no parameter has, and with those that the
// route's table allows.
func (r refusing) cell(t *testing.T, m Models, name string) string {
	ask := func(value string) (code int, said string) {
		w := sends(t, m, r.call, fmt.Sprintf(r.body, fmt.Sprintf(`,%q:%s`, name, value)))
		return w.Code, w.Body.String()
	}
	code, said := ask(`{"no":"value"}`)
	switch {
	case code == http.StatusOK:
		return "read"
	case strings.Contains(said, "Unrecognized request argument supplied: "+name):
		return ""
	case strings.Contains(said, name+" is not a sampling parameter"):
		return "refused"
	case !strings.Contains(said, "which is not supported here: "):
		return "read" // and found to be of the wrong kind
	}
	if code != http.StatusBadRequest || !strings.Contains(said, name) {
		t.Errorf("%s: %s is refused with %d %s", r.name, name, code, said)
	}
	var allowed []string
	for _, value := range r.table[name].Neutral {
		if code, said := ask(value); code != http.StatusOK {
			t.Errorf("%s: %s may be %s and is refused: %d %s", r.name, name, value, code, said)
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return same(a, value) }) {
			allowed = append(allowed, value)
		}
	}
	if len(allowed) == 0 {
		return "refused"
	}
	return "only `" + strings.Join(allowed, "`, `") + "`"
}

// same reports whether two values are one number or text.
func same(a, b string) bool {
	var x, y any
	err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y))
	return err == nil && reflect.DeepEqual(x, y)
}

// refusedTable has a line for the parameters that the same routes refuse, or allow only some values of.
func refusedTable(t *testing.T, m Models) string {
	names := map[string]bool{}
	for _, r := range refusingRoutes() {
		for name := range r.table {
			names[name] = true
		}
	}
	table := "| parameters | routes |\n|---|---|\n"
	alike := map[string][]string{}
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		verdict := refusedWhere(t, m, name)
		if alike[verdict] == nil {
			verdicts = append(verdicts, verdict)
		}
		alike[verdict] = append(alike[verdict], name)
	}
	for _, verdict := range verdicts {
		table += "| " + strings.Join(alike[verdict], ", ") + " | " + verdict + " |\n"
	}
	return table
}

// refusedWhere lists the routes that know a parameter by what they say to it.
func refusedWhere(t *testing.T, m Models, name string) string {
	routes := map[string][]string{}
	var said []string
	for _, r := range append(refusingRoutes(), chatWithTokens) {
		cell := r.cell(t, m, name)
		if cell != "" && routes[cell] == nil {
			said = append(said, cell)
		}
		routes[cell] = append(routes[cell], strings.TrimPrefix(r.name, "its "))
	}
	for i, cell := range said {
		on := routes[cell]
		if tokens := slices.Index(on, chatWithTokens.name); slices.Contains(on, "chat") != (tokens >= 0) {
			t.Errorf("%s: chat and chat/completions/tokens do not say the same", name)
		} else if tokens >= 0 {
			on = slices.Delete(on, tokens, tokens+1)
		}
		said[i] = cell + ": " + strings.Join(on, ", ")
	}
	return strings.Join(said, "; ")
}

// The table of refused parameters in docs/reference/endpoint.md says what the routes do.
func TestRefusedTable(t *testing.T) {
	m, _ := tools(t, "Hello")
	table := refusedTable(t, m)
	doc, err := os.ReadFile(refusedDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), refusedBegin)
	now, after, ok2 := strings.Cut(rest, refusedEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", refusedDoc)
	}
	if *update {
		if err := os.WriteFile(refusedDoc, []byte(before+refusedBegin+table+refusedEnd+after), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if now != table {
		t.Errorf("the table in %s is not what the routes do; write it with -update:\n%s", refusedDoc, table)
	}
}
