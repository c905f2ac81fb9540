package dapo

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
	"golang.org/x/text/unicode/norm"
)

// texMacroText says which arguments a macro takes (see texParser.arguments) and its text: #1 to #9 are the text of an
// argument, "=" is the text of all, "+" and a combining accent means accented letters, "@" and a style means letters of
// a mathematical alphabet. A macro that is not listed takes nothing and has no text.
type texMacroText struct{ args, text string }

//go:embed detex.tsv
var detexTable string

// texMacros is the table of pylatexenc 2.11, without the macros of Cyrillic letters, of sections and of references.
var texMacros = sync.OnceValue(func() map[string]texMacroText {
	macros := map[string]texMacroText{}
	for line := range strings.Lines(detexTable) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		args, text, _ := strings.Cut(rest, "\t")
		macros[name] = texMacroText{args, strings.ReplaceAll(text, `\n`, "\n")}
	}
	return macros
})

// detex is the text of LaTeX as pylatexenc 2's latex2text gives it by default: \frac{1}{2} is 1/2, \sqrt{2} is √(2),
// Greek letters and signs are characters. Comments are not known: no % is left where this is called. It is an error
// where latex2text fails, and past the limits of a reading.
func detex(latex string) (string, error) {
	p := &texParser{text: latex, macros: texMacros(), specials: texSpecials()}
	nodes, _, err := p.nodes(0, ending{})
	if err != nil {
		return "", err
	}
	w := &texWriter{macros: p.macros, specials: p.specials}
	text := w.list(nodes, false)
	if w.failed || !utf8.ValidString(text) {
		return "", errUnreadTex
	}
	return text, nil
}

// texWriter makes text of nodes. In formulas a space after a macro counts and a run of nothing but space does not;
// elsewhere it is the other way round.
type texWriter struct {
	macros   map[string]texMacroText
	specials [][2]string
	failed   bool
}

func (w *texWriter) list(nodes []texNode, math bool) string {
	var b strings.Builder
	for i := range nodes {
		if math && i > 0 && nodes[i].kind == charsNode && len(nodes[i-1].args) == 0 {
			b.WriteString(nodes[i-1].behind) // only a macro has any
		}
		b.WriteString(w.node(&nodes[i], math))
	}
	return b.String()
}

func (w *texWriter) node(n *texNode, math bool) string {
	switch {
	case n == nil || n.kind == charsNode && math && tex.TrimSpace(n.text) == "":
		return ""
	case n.kind == charsNode:
		return n.text
	case n.kind == groupNode:
		return w.list(n.nodes, math)
	case n.kind == specialNode:
		for _, s := range w.specials {
			if s[0] == n.text {
				return s[1]
			}
		}
		return n.text
	case n.kind == mathNode:
		content := tex.TrimSpace(w.list(n.nodes, true))
		if n.text == "$$" || n.text == `\[` {
			return indented(content)
		}
		return content
	case n.kind == environmentNode:
		return w.environment(n, math)
	default:
		return w.macro(n, math)
	}
}

func (w *texWriter) macro(n *texNode, math bool) string {
	text := w.macros[n.text].text
	if text == "" || len(text) == 1 && text != "=" || !strings.ContainsAny(text, "#=@+") {
		return text // what the arguments are does not matter, even if they have no text
	}
	var args []string
	for _, a := range n.args {
		args = append(args, w.node(a, math))
	}
	switch {
	case text == "=":
		return strings.Join(args, "")
	case text[0] == '@':
		return styled(strings.Join(args, ""), text[1:])
	case text[0] == '+':
		return accented(args, text[1:])
	case !n.given && !strings.Contains(text, "#1"): // named arguments that are not there
		w.failed = true
		return ""
	}
	for i := range len("123456789") {
		with := "%s" // what an argument that is not there leaves
		if n.given && i < len(args) {
			with = args[i]
		}
		text = strings.ReplaceAll(text, "#"+string(rune('1'+i)), with)
	}
	return text
}

func accented(args []string, accent string) string {
	text := " "
	if len(args) > 0 {
		text = tex.TrimSpace(args[0])
	}
	var b strings.Builder
	for _, r := range text {
		switch r {
		case 'ı':
			r = 'i'
		case 'ȷ':
			r = 'j'
		}
		b.WriteString(norm.NFC.String(string(r) + accent))
	}
	return b.String()
}

func indented(text string) string {
	return "\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
