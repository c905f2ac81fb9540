package dapo

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

var canonicalRatio = regexp.MustCompile(`^(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)$`)

// mathForm is the normal form of the MATH data's grader (Hendrycks et al. 2021) as verl 0.7.1 has it: spaces, degrees,
// dollars, percent and a unit after \text{ go, fractions and roots get their braces, a/b becomes \frac. Other
// text stays as it is.
func mathForm(answer string) string {
	answer = insideText(tex.TrimSpace(answer))
	text := tex.RemoveAll(answer, "\n", `\!`)
	text = tex.ReplaceInTurn(text, `\\`, `\`, "tfrac", "frac", "dfrac", "frac")
	text = tex.RemoveAll(text, `\left`, `\right`, `^{\circ}`, `^\circ`, `\$`)
	if strings.Count(text, `\text{ `) > 1 {
		return answer
	}
	text, _, _ = strings.Cut(text, `\text{ `)
	text = tex.ReplaceInTurn(text, `\\%`, "", `\%`, "", " .", " 0.", "{.", "{0.")
	if text == "" {
		return ""
	}
	if text[0] == '.' {
		text = "0" + text
	}
	if sides := strings.Split(text, "="); len(sides) == 2 && utf8.RuneCountInString(sides[0]) <= 2 {
		text = sides[1]
	}
	text, ok := mathRoots(text)
	if !ok {
		return answer
	}
	if text, ok = mathFractions(strings.ReplaceAll(text, " ", "")); !ok {
		return answer
	}
	if text == "0.5" {
		text = `\frac{1}{2}`
	}
	if m := canonicalRatio.FindStringSubmatch(text); m != nil {
		return `\frac{` + m[1] + "}{" + m[2] + "}"
	}
	return text
}

// insideText is the content of a \text{…} around the whole answer.
func insideText(text string) string {
	if inner, ok := strings.CutPrefix(text, `\text{`); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok && inner != "" && !strings.Contains(inner, "\n") {
			return tex.TrimSpace(inner)
		}
	}
	return text
}

// mathRoots writes \sqrt3 as \sqrt{3}; a root of nothing cannot be treated.
func mathRoots(text string) (out string, ok bool) {
	parts := strings.Split(text, `\sqrt`)
	var b strings.Builder
	b.WriteString(parts[0])
	for _, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		b.WriteString(`\sqrt`)
		if p[0] != '{' {
			_, n := utf8.DecodeRuneInString(p)
			b.WriteString("{" + p[:n] + "}")
			p = p[n:]
		}
		b.WriteString(p)
	}
	return b.String(), true
}

// mathFractions writes \frac12 and \frac1{2} with braces, and leaves all as it is where one has a single character
// behind it; a fraction of nothing cannot be treated.
func mathFractions(text string) (out string, ok bool) {
	parts := strings.Split(text, `\frac`)
	var b strings.Builder
	b.WriteString(parts[0])
	for _, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		b.WriteString(`\frac`)
		if p[0] != '{' {
			_, n := utf8.DecodeRuneInString(p)
			_, m := utf8.DecodeRuneInString(p[n:])
			if m == 0 {
				return text, true
			}
			b.WriteString("{" + p[:n] + "}")
			if p[n] != '{' {
				b.WriteString("{" + p[n:n+m] + "}")
				n += m
			}
			p = p[n:]
		}
		b.WriteString(p)
	}
	return b.String(), true
}
