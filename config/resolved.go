package config

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Resolved is the configuration in YAML, every key with its value, and after each value that is not a default a
// comment saying where it came from. It can be loaded again and gives the same configuration.
func (c *Config) Resolved() string {
	var b strings.Builder
	p := printer{c: c, b: &b}
	p.mapping(encode(reflect.ValueOf(c).Elem()), "", 0)
	return b.String()
}

type printer struct {
	c *Config
	b *strings.Builder
}

func (p *printer) mapping(n *document.Node, path string, depth int) {
	for _, f := range n.Fields {
		fmt.Fprintf(p.b, "%s%s:", strings.Repeat("  ", depth), document.ScalarText(f.Key, true))
		p.value(f.Value, document.Join(path, f.Key), depth)
	}
}

// value writes the value after a key or a dash, and ends the line.
func (p *printer) value(n *document.Node, path string, depth int) {
	switch {
	case n.Kind == document.Mapping && len(n.Fields) > 0:
		p.b.WriteString("\n")
		p.mapping(n, path, depth+1)
	case n.Kind == document.Sequence && len(n.Items) > 0:
		p.b.WriteString("\n")
		for i, item := range n.Items {
			p.b.WriteString(strings.Repeat("  ", depth+1) + "-")
			p.value(item, document.Index(path, i), depth+1)
		}
	default:
		p.b.WriteString(" " + document.FlowText(n))
		if o := p.c.Origin(path); o.Kind != FromDefault {
			p.b.WriteString("  # " + strings.Map(printable, o.String()))
		}
		p.b.WriteString("\n")
	}
}

// printable keeps a comment on its line.
func printable(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}
