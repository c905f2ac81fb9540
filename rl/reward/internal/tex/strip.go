package tex

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// measureWords are the words that StripString drops, in its order; a point is any character.
// They are the units of MathQA.
const measureWords = `east|degree|mph|kmph|ft|m sqaure| m east|sq m|deg|mile|q .|monkey|prime|ratio|profit of rs|rd|` +
	`o|gm|p . m|lb|tile|per|dm|lt|gain|ab|way|west|` +
	`a .|b .|c .|d .|e .|f .|g .|h .|t|a|h|no change|men|soldier|pie|bc|excess|st|inches|noon|percent|by|gal|kmh|c|` +
	`acre|rise|a . m|th|π r 2|sq|mark|l|toy|coin|sq . m|gallon|` +
	`° f|profit|minw|yr|women|feet|am|pm|hr|cu cm|square|v â € ™|are|rupee|rounds|cubic|cc|mtr|s|ohm|number|kmph|` +
	`day|hour|minute|min|second|man|woman|sec|cube|mt|sq inch|mp|` +
	`∏ cm ³|hectare|more|sec|unit|cu . m|cm 2|rs .|rs|kg|g|month|km|m|cm|mm|apple|liter|loss|yard|pure|year|` +
	`increase|decrease|d|less|Surface|litre|pi sq m|s .|metre|meter|inch`

// measures are the words, then their plurals.
var measures = sync.OnceValue(func() []measure {
	words := strings.Split(measureWords, "|")
	out := make([]measure, 0, 2*len(words))
	for _, plural := range []string{"", "s"} {
		for _, w := range words {
			out = append(out, newMeasure(w+plural))
		}
	}
	return out
})

var (
	arrayStart   = regexp.MustCompile(`\\begin\{array\}\{.*?\}`)
	BoxOfText    = regexp.MustCompile(`\\mbox{.*?}`)
	PlainText    = regexp.MustCompile(`\\text\{(.*?)\}`)
	assignment   = regexp.MustCompile(`^[a-zA-Z]\s*=\s*`)
	emptyDecimal = regexp.MustCompile(`(\d+)\.0+([^\d]|$)`)
	bareRoot     = regexp.MustCompile(`\\sqrt\s*([\p{L}\p{N}_]+)`)
)

// StripString normalises an answer for comparison as text, step by step as Trinity-RFT does (after the
// evaluation code of Qwen2.5-Math): LaTeX spellings, units, number words, empty decimals and spaces.
func StripString(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "")
	text = strings.TrimRight(text, ".")
	text = RemoveAll(text, `\!`, `\$`, "$", "%", `\%`)
	text = arrayStart.ReplaceAllString(text, `\begin{pmatrix}`)
	text = ReplaceInTurn(text, `\end{array}`, `\end{pmatrix}`, "bmatrix", "pmatrix", "tfrac", "frac", "dfrac", "frac",
		`\neq`, `\ne`, `\leq`, `\le`, `\geq`, `\ge`, `\left`, "", `\right`, "", `\{`, "{", `\}`, "}")
	text = BoxOfText.ReplaceAllString(text, "")
	text = RemoveAll(text, `\mathbf`, `^{\circ}`, `^\circ`)
	text = PlainText.ReplaceAllString(text, "$1")
	text = dropMeasures(text)
	if n, ok := WordsToNumber(text); ok {
		text = n
	}
	text = assignment.ReplaceAllString(text, "")
	text = ReplaceInTurn(text, "infinity", `\infty`, "inf", `\infty`)
	text = emptyDecimal.ReplaceAllString(text, "$1$2")
	text = ReplaceInTurn(text, " .", " 0.", "{.", "{0.")
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	text = bareRoot.ReplaceAllString(strings.ReplaceAll(text, " ", ""), `\sqrt{$1}`)
	text = RootFraction(BraceFractions(text))
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") || strings.HasPrefix(text, "(") &&
		strings.HasSuffix(text, ")") {
		text = text[1:max(1, len(text)-1)]
	}
	return strings.TrimSpace(text)
}

func RemoveAll(text string, parts ...string) string {
	for _, p := range parts {
		text = strings.ReplaceAll(text, p, "")
	}
	return text
}

func ReplaceInTurn(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// wordValues are the English number words; point, which parts off decimals, has none.
var wordValues = map[string]int64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten":    10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
	"eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "point": -1,
}

// WordsToNumber is the number that a text's number words spell, whatever other words it has; ok is false if
// it has none or they are out of order. It follows the Python package word2number 1.1.
func WordsToNumber(text string) (digits string, ok bool) {
	text = strings.ToLower(strings.ReplaceAll(text, "-", " "))
	if plainDigits(text) {
		if text = strings.TrimLeft(text, "0"); text == "" {
			text = "0"
		}
		return text, true
	}
	var words, decimals []string
	scale := map[string]int{"billion": -1, "million": -1, "thousand": -1, "point": -1}
	for _, w := range strings.Fields(text) {
		if _, known := wordValues[w]; !known {
			continue
		}
		if at, special := scale[w]; special {
			if at >= 0 {
				return "", false
			}
			scale[w] = len(words)
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return "", false
	}
	if at := scale["point"]; at >= 0 {
		words, decimals = words[:at], words[at+1:]
	}
	whole, ok := wholeNumber(words)
	if !ok {
		return "", false
	}
	return withDecimals(whole, decimals)
}

func plainDigits(text string) bool {
	return text != "" && len(text) == Digits(text)
}

// wholeNumber adds the billions, millions, thousands and the rest.
func wholeNumber(words []string) (int64, bool) {
	total, start, last := int64(0), 0, int64(1e10)
	for i, w := range words {
		if v := wordValues[w]; v >= 1000 {
			if v >= last {
				return 0, false
			}
			last = v
			if len(words) == 1 {
				return v, true
			}
			if i == start {
				return 0, false
			}
			total += belowThousand(words[start:i]) * v
			start = i + 1
		}
	}
	if start < len(words) {
		total += belowThousand(words[start:])
	}
	return total, true
}

// belowThousand reads up to four words as word2number does, which sees only the first of five or more.
func belowThousand(words []string) int64 {
	v := make([]int64, len(words))
	hundred := false
	for i, w := range words {
		v[i] = wordValues[w]
		hundred = hundred || v[i] == 100
	}
	switch {
	case len(v) == 4:
		return v[0]*v[1] + v[2] + v[3]
	case len(v) == 3:
		return v[0]*v[1] + v[2]
	case len(v) == 2 && hundred:
		return v[0] * v[1]
	case len(v) == 2:
		return v[0] + v[1]
	}
	return v[0]
}

// withDecimals writes the number with its decimal digits, which must be words below ten.
func withDecimals(whole int64, decimals []string) (string, bool) {
	out := strconv.FormatInt(whole, 10)
	if len(decimals) == 0 {
		return out, true
	}
	out += "."
	for _, w := range decimals {
		if wordValues[w] > 9 {
			return "", false
		}
		out += strconv.FormatInt(wordValues[w], 10)
	}
	f, err := strconv.ParseFloat(out, 64)
	if err != nil {
		return "", false
	}
	out = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out, true
}
