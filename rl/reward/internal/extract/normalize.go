package extract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/pattern"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// replacement is one step of tidying LaTeX; text that matches becomes the second string.
type replacement struct {
	pattern *regexp.Regexp
	with    string
}

var (
	leftDelimiter = regexp.MustCompile(`\\m?left(\\\{|\{|\\\||\||\[|\(|\\lbrace|\\lbrack|\\lgroup|\\l?vert|\\lceil|` +
		`\\lfloor|\\langle)`)
	rightDelimiter = regexp.MustCompile(`\\m?right(\\\}|\}|\\\||\||\]|\)|\\rbrace|\\rbrack|\\rgroup|\\r?vert|` +
		`\\rceil|\\rfloor|\\rangle)`)
	permutation  = regexp.MustCompile(`\(([a-zA-Z0-9+\-*/\\ ]+?)\)_{([a-zA-Z0-9+\-*/\\ ]+?)}`)
	superfluous  = pattern.MustCompile(`\\mathrm\{th\}|\\!\s*|\\text\s*\{\s*\}|\\\$|\$|(?<!\\)["']|\\displaystyle`)
	doubledSlash = regexp.MustCompile(`\\\\([a-zA-Z])`)
	unitInText   = regexp.MustCompile(`\\(?:text|mbox){.*?}(?:\^\d|\{\^\d\})?$`)
	trailingUnit = regexp.MustCompile(`(\d|\}|\s)\s*(?:` + unitWords + `)(?:s|es)?\s*$`)
)

// unitWords are the words dropped after a number, as a pattern: the units of the MathQA data and what else
// math_verify takes for a unit.
const unitWords = `integerpoint|feet|sue|digit|pound|meal|edge|student|children ticket|multiple|east|degree|mph|` +
	`kmph|ft|m square| m east|sq m|deg|mile|q .|monkey|prime|ratio|` +
	`profit of rs|rd|o|gm|p . m|lb|tile|per|dm|lt|gain|ab|way|west|a .|b .|c .|d .|e .|f .|g .|h .|t|h|no change|` +
	`men|soldier|pie|bc|excess|st|inches|noon|cent|by|gal|kmh|c|acre|rise|` +
	`a . m|th|π r 2|sq|mark|l|toy|coin|sq . m|gallon|° f|profit|minw|yr|women|am|pm|hr|cu cm|square|v â € ™|are|` +
	`rupee|rounds|cubic|cc|mtr|s|ohm|number|day|hour|minute|min|second|` +
	`man|woman|sec|cube|mt|sq inch|mp|∏ cm ³|hectare|more|unit|cu . m|cm 2|rs .|rs|kg|g|month|km|m|cm|mm|apple|` +
	`liter|loss|yard|pure|year|increase|decrease|d|less|Surface|litre|` +
	`pi sq m|s .|metre|meter|inch`

// synonyms are replaced in one pass from left to right, the first that matches at a place. A number
// behind a group's name parts it from others of one meaning.
var synonyms = pattern.MustCompile(`(?<text1>\\math(?:rm|it|bf)|\\text(?:normal|bf|it|rm))` +
	`|(?<frac1>\\(?:d|t|c)frac)|(?<spacepoint1>\s\.)|(?<bracepoint1>\{\.)|(?<approx1>~=)|(?<comma1>\s*\{\s*,\s*\}|` +
	`(?<![a-zA-Z]),?\s*(?:and|or)(?![a-zA-Z])|,?\s*\\text{\s*(?:and|or)\s*})` +
	`|(?<space1>(?<!\\)\\\s|,?\\ldots)|(?<infty1>infinity)|(?<escpercent1>\s*\bpercentage\b)|` +
	`(?<percent1>\\text{percentage})|(?<escpercent2>\s*\bpercent\b)|(?<percent2>\\text{percent})` +
	`|(?<escpercent3>\s*\bpct\b)|(?<percent3>\\text{pct})|(?<infty2>(?<!\\)inf(?!inity))|(?<sqrt1> sqrt)`)

var synonymFor = map[string]string{
	"text": `\text`, "frac": `\frac`, "spacepoint": " 0.", "bracepoint": "{0.", "approx": `\approx`, "comma": ",",
	"space": " ",
	"infty": `\infty`, "percent": "%", "escpercent": `\%`, "sqrt": `\sqrt`,
}

// malformed are the ways models write powers, roots, fractions and logarithms without braces.
var malformed = []replacement{
	{regexp.MustCompile(`\^\s?\((.*?)\)`), `^{$1}`},
	{regexp.MustCompile(`sqrt\s?\((.*?)\)`), `\sqrt{$1}`},
	{regexp.MustCompile(`\\frac\s?(\d)\s?(\d+)`), `\frac{$1}{$2}`},
	{regexp.MustCompile(`\\log_\s?(\d)\s?(\d+)`), `\log_{$1}{$2}`},
	{regexp.MustCompile(`\\frac\s?{(.*?)}\s?(\d)`), `\frac{$1}{$2}`},
	{regexp.MustCompile(`\\frac\s?(\d)\s?{(.*?)}`), `\frac{$1}{$2}`},
	{regexp.MustCompile(`\\sqrt\s?(\d)`), `\sqrt{$1}`},
}

// normalize tidies LaTeX for the parser: boxes opened, synonyms settled, units dropped, braces put in.
func normalize(text string, r Reading, mode tex.BoxMode) string {
	text = tidy(tex.OpenBoxes(text, mode))
	if r.Equations {
		text = lastSide(text)
	}
	if r.Units {
		text = dropUnits(text)
	}
	if r.Nits {
		if strings.HasPrefix(text, ".") {
			text = "0" + text
		}
		if text == "0.5" {
			text = `\frac{1}{2}`
		}
	}
	if r.Operators {
		for _, m := range malformed {
			text = m.pattern.ReplaceAllString(text, m.with)
		}
		text = strings.ReplaceAll(text, " sqrt", `\sqrt`)
		text = tex.SlashFraction(tex.BraceFractions(tex.BraceRoots(text)))
	}
	return strings.TrimSpace(text)
}

func tidy(text string) string {
	text = strings.NewReplacer(`\mathrm{T}`, "T", `\mathrm{d}`, "d", `{\rm d}`, "d",
		`\left[\begin{matrix}`, `\begin{bmatrix}`, `\end{matrix}\right]`, `\end{bmatrix}`).Replace(text)
	text = leftDelimiter.ReplaceAllString(text, "$1")
	text = rightDelimiter.ReplaceAllString(text, "$1")
	text = permutation.ReplaceAllString(text, `\frac{($1)!}{(($1)-($2))!}`)
	text = superfluous.Replace(text, func([]int) string { return "" })
	text = synonyms.Replace(text, synonym)
	text = strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	if !strings.Contains(text, "matrix") {
		text = doubledSlash.ReplaceAllString(text, `\$1`)
	}
	return text
}

// synonym returns the replacement of the alternative that matched.
func synonym(loc []int) string {
	for i := 2; i < len(loc); i += 2 {
		if loc[i] >= 0 {
			return synonymFor[strings.TrimRight(synonyms.Names()[i/2], "0123456789")]
		}
	}
	return ""
}

func dropUnits(text string) string {
	if t := strings.TrimSpace(unitInText.ReplaceAllString(text, "")); t != "" {
		text = t
	}
	for range 2 {
		at := tailStart(text)
		if t := text[:at] + trailingUnit.ReplaceAllString(text[at:], "$1"); t != "" {
			text = t
		}
	}
	return text
}

// tailStart is a place before which no unit at the end of a text begins: after it are a word, the spaces before it,
// and what they follow.
func tailStart(text string) int {
	const longest = 64 // bytes, more than any unit has
	at := len(strings.TrimRightFunc(text, unicode.IsSpace))
	at = len(strings.TrimRightFunc(text[:max(0, at-longest)], unicode.IsSpace))
	for at = max(0, at-utf8.UTFMax); at > 0 && !utf8.RuneStart(text[at]); at-- {
	}
	return at
}
