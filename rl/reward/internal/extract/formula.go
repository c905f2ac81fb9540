package extract

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// plainCommands are the LaTeX commands that may be next to a number without being mathematics about it.
const plainCommands = ` \text \textbf \textit \textrm \texttt \textsf \mathrm \mathbf \mbox \rm \bf \it \tt \sf ` +
	`\emph \underline \boxed \fbox \item \quad \qquad \displaystyle \textstyle \limits \left \right \degree \circ ` +
	`\si \unit \euro \pounds \yen \textcent \textdollar \approx \sim \simeq \therefore \Rightarrow \rightarrow ` +
	`\implies \to \checkmark \square \blacksquare \Box \qed \QED \n \t \section \tag \label \hspace \hline \hfill ` +
	`\newline \par \noindent `

// mathematicalSigns are those that no number beside words has.
const mathematicalSigns = `^_√∛∜π∞∑∏∫∂∇⁰¹⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⌊⌈±∓·⋅∙∗≤≥≠≡∈∉∪∩⊂⊆⁄∕⩽⩾≪≫∝≅≃`

var (
	raisedWord = regexp.MustCompile(`^\^\s*\{?\s*(?:\\circ|\\degree|\\text\b|\\mathrm\b|th\}|°)`) // of an angle, a 7th
	raisedUnit = regexp.MustCompile(`^\^(?:[23]|\{[23]\})(?:$|[^\d.])`)                           // m^2
	modulus    = regexp.MustCompile(`\bmod\s*\d`)
)

// mathematical reports whether a text has LaTeX in it, or such a sign, or digits that are not 0 to 9.
func mathematical(text string) bool {
	if modulus.MatchString(text) {
		return true
	}
	for i, c := range text {
		switch {
		case c == '\\':
			n := 1
			for i+n < len(text) && tex.IsLetter(text[i+n]) {
				n++
			}
			if n > 1 && !plainWord(text[i:i+n]) {
				return true
			}
		case c == '²' || c == '³':
			if i > 0 && !tex.IsLetter(text[i-1]) { // cm²
				return true
			}
		case c == '^':
			unit := i > 0 && tex.IsLetter(text[i-1]) && raisedUnit.MatchString(text[i:])
			if !unit && !raisedWord.MatchString(text[i:]) {
				return true
			}
		case strings.ContainsRune(mathematicalSigns, c) || c > unicode.MaxASCII && unicode.IsDigit(c):
			return true
		}
	}
	return false
}

// plainWord reports whether a command is no mathematics: \n and \nSo are ends of lines in a text that was escaped.
func plainWord(word string) bool {
	newline := strings.HasPrefix(word, `\n`) && len(word) > 2 && unicode.IsUpper(rune(word[2]))
	return newline || strings.Contains(plainCommands, " "+word+" ")
}

// formulaStart goes back from a number to the word or the end of a sentence before it: what is between them may be
// mathematics.
func (t *scanned) formulaStart(at int) int {
	depth, group := 0, at
	for i := at; i > max(0, at-tex.MaxAnswer); i-- {
		switch c := t.r[i-1]; {
		case c == '}':
			if depth++; depth == 1 {
				group = i
			}
		case c == '{':
			if depth--; depth < 0 && plainWord(t.command(i-1)) {
				return i
			}
		case c == '\\' && depth == 0 && t.plainAt(i-1) && t.at(t.wordEnd(i)) == '{':
			return group
		case c == '\n' || c == '$' || depth <= 0 && (t.endsSentence(i-1) || t.word(i-1)):
			return i
		}
	}
	return max(0, at-tex.MaxAnswer)
}

// formulaEnd returns the place of the word or the end of the sentence after a number.
func (t *scanned) formulaEnd(at int) int {
	depth := 0
	for i := at; i < min(len(t.r), at+tex.MaxAnswer); i++ {
		switch c := t.r[i]; {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '\n' || c == '$' || depth <= 0 && (t.endsSentence(i) || i+1 < len(t.r) && t.word(i+1)):
			return i
		}
	}
	return min(len(t.r), at+tex.MaxAnswer)
}

func (t *scanned) endsSentence(i int) bool {
	return t.space(i+1) && strings.ContainsRune(".,;:", t.r[i])
}

// maxCommand is longer than any command.
const maxCommand = 32

// wordEnd is the end of the letters from i on, wordStart the start of those before i.
func (t *scanned) wordEnd(i int) int {
	for end := i + maxCommand; i < end && unicode.IsLetter(t.at(i)); i++ {
	}
	return i
}

func (t *scanned) wordStart(i int) int {
	for start := i - maxCommand; i > start && unicode.IsLetter(t.at(i-1)); i-- {
	}
	return i
}

func (t *scanned) plainAt(i int) bool { return plainWord(string(t.r[i:t.wordEnd(i+1)])) }

// word reports whether the letter at i is the second or a later one of a word; a command is none.
func (t *scanned) word(i int) bool {
	if !unicode.IsLetter(t.r[i]) || !unicode.IsLetter(t.at(i-1)) {
		return false
	}
	start := t.wordStart(i)
	return t.at(start-1) != '\\' && !(t.follows(start, "mod") && t.wordEnd(start) == start+3)
}

// inGroup reports whether a place is in the braces of a command, a power or an index.
func (t *scanned) inGroup(at int) bool {
	if word := t.command(at); word == "^" || word == "_" {
		return true
	}
	for _, open := range t.openBraces(at) {
		word := t.command(open)
		if word == "^" || word == "_" || word == "}" || len(word) > 1 && !plainWord(word) {
			return true
		}
	}
	return false
}

// command is the word with its backslash, or the mark, before a place.
func (t *scanned) command(at int) string {
	i := t.wordStart(at)
	if i < at && t.at(i-1) == '\\' {
		return string(t.r[i-1 : at])
	}
	if c := t.at(at - 1); strings.ContainsRune("^_}", c) {
		return string(c)
	}
	return ""
}
