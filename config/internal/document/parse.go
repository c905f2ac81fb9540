package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits on the text, far above any real configuration, so that a hostile file is refused instead of filling memory.
const (
	maxText  = 1 << 20 // bytes of a file
	maxLines = 10_000  // the parser's time grows with their square
	maxNodes = 200_000 // values after aliases and references are expanded
	maxDepth = 100     // levels of nesting
)

// Read turns the text of a file into a tree: key=value overrides are laid over it, and interpolations are filled in.
// lookup answers ${oc.env:NAME}; ${dotted.key} falls back on defaults. The tree is nil when the text is no mapping.
func Read(name string, text []byte, overrides []string, lookup func(string) (string, bool), defaults func() *Node) (
	*Node, Problems) {
	var found Problems
	root := parseText(&source{File: name, text: string(text)}, &found)
	if root == nil {
		return nil, found
	}
	applyOverrides(root, overrides, &found)
	return interpolate(root, lookup, defaults, &found), found
}

// parseText turns YAML into a tree. It returns nil when the text is not YAML at all, or not a mapping.
func parseText(src *source, found *Problems) *Node {
	n := parseValue(src, found)
	switch {
	case n == nil:
		return nil
	case n.IsNull():
		return &Node{Kind: Mapping, At: Position{src, 1, 1}}
	case n.Kind != Mapping:
		found.Add(n.At, "", "the configuration is %s; it must be a mapping of keys such as mode, model and buffer",
			n.Describe())
		return nil
	}
	return n
}

// parseValue turns one YAML document of any kind into a tree, or returns nil after adding a problem.
func parseValue(src *source, found *Problems) *Node {
	if err := checkText(src.text); err != nil {
		found.Add(Position{src, 0, 0}, "", "%s", err)
		return nil
	}
	file, err := parser.ParseBytes([]byte(src.text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		found.Add(syntaxPlace(src, err), "", "not valid YAML: %s", syntaxText(err))
		return nil
	}
	var docs []*ast.DocumentNode
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	switch {
	case len(docs) == 0:
		return &Node{At: Position{src, 1, 1}}
	case len(docs) > 1:
		found.Add(place(src, docs[1].Body), "", "a second YAML document begins here; keep one configuration per file")
		return nil
	}
	r := reader{src: src, found: found, anchors: map[string]*Node{}}
	return r.read(docs[0].Body, "", 0)
}

// checkText refuses texts that a parser should not be asked to read.
func checkText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("%d bytes are too many for a configuration (at most %d); is this the right file?", len(text),
			maxText)
	}
	if n := strings.Count(text, "\n"); n > maxLines {
		return fmt.Errorf("%d lines are too many for a configuration (at most %d); is this the right file?", n,
			maxLines)
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return fmt.Errorf("byte %d is zero; is this a text file?", i)
	}
	depth := 0
	for _, r := range text {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > 20*maxDepth {
			return errors.New("brackets are nested too deeply; is this the right file?")
		}
	}
	return nil
}

func syntaxPlace(src *source, err error) Position {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return tokenPlace(src, e.GetToken())
	}
	return Position{src, 0, 0}
}

func syntaxText(err error) string {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		return e.GetMessage()
	}
	return err.Error()
}

func tokenPlace(src *source, t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{src, 0, 0}
	}
	return Position{src, t.Position.Line, t.Position.Column}
}

// place is where n begins; a mapping begins with its first key.
func place(src *source, n ast.Node) Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return tokenPlace(src, n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return tokenPlace(src, n.Key.GetToken())
	}
	return tokenPlace(src, n.GetToken())
}
