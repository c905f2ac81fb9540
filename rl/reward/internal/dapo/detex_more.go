package dapo

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

func (w *texWriter) environment(n *texNode, math bool) string {
	switch n.text {
	case "array", "pmatrix", "bmatrix", "smallmatrix", "psmallmatrix", "bsmallmatrix":
		return w.matrix(n.nodes, math)
	case "equation", "equation*", "eqnarray", "eqnarray*", "align", "align*", "multline", "multline*", "gather",
		"gather*",
		"dmath", "dmath*":
		return indented(tex.TrimSpace(w.list(n.nodes, true)))
	case "center", "flushleft", "flushright":
		return "\n" + w.list(n.nodes, math) + "\n"
	}
	return w.list(n.nodes, math)
}

// matrix writes rows parted by semicolons, each entry as wide as the widest: [ -7;  5 ].
func (w *texWriter) matrix(nodes []texNode, math bool) string {
	rows, start := [][]string{nil}, 0
	widest := -1
	entry := func(end int) {
		if start < end {
			text := tex.TrimSpace(w.list(nodes[start:end], math))
			rows[len(rows)-1] = append(rows[len(rows)-1], text)
			widest = max(widest, utf8.RuneCountInString(text))
		}
		start = end + 1
	}
	for i, n := range nodes {
		switch {
		case n.kind == specialNode && n.text == "&":
			entry(i)
		case n.kind == macroNode && n.text == `\`:
			entry(i)
			rows = append(rows, nil)
		}
	}
	entry(len(nodes))
	if widest < 0 { // no entry at all has no width
		w.failed = true
		return ""
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for j, text := range row {
			row[j] = strings.Repeat(" ", widest-utf8.RuneCountInString(text)) + text
		}
		lines[i] = strings.Join(row, " ")
	}
	return "[ " + strings.Join(lines, "; ") + " ]"
}

// alphabet is where the letters A and a of a mathematical alphabet are, and its letters that are elsewhere (Unicode,
// Mathematical Alphanumeric Symbols).
type alphabet struct {
	upper, lower rune
	elsewhere    string // pairs: the letter and its character
}

func alphabetOf(style string) alphabet {
	switch style {
	case "bold":
		return alphabet{0x1D400, 0x1D41A, ""}
	case "italic":
		return alphabet{0x1D434, 0x1D44E, "hℎ"}
	case "script":
		return alphabet{0x1D49C, 0x1D4B6, "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ"}
	case "fraktur":
		return alphabet{0x1D504, 0x1D51E, "CℭHℌIℑRℜZℨ"}
	case "doublestruck":
		return alphabet{0x1D538, 0x1D552, "CℂHℍNℕPℙQℚRℝZℤ"}
	case "sans":
		return alphabet{0x1D5A0, 0x1D5BA, ""}
	default:
		return alphabet{0x1D670, 0x1D68A, ""} // monospace
	}
}

func styled(text, style string) string {
	letters := alphabetOf(style)
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune(letters.elsewhere, r); i >= 0 && r < utf8.RuneSelf {
			c, _ := utf8.DecodeRuneInString(letters.elsewhere[i+1:])
			return c
		}
		switch {
		case 'A' <= r && r <= 'Z':
			return letters.upper + r - 'A'
		case 'a' <= r && r <= 'z':
			return letters.lower + r - 'a'
		}
		return r
	}, text)
}
