package dapo

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

var (
	wholeOfText = regexp.MustCompile(`^\\text\{(.+)\}\n?$`)
	degreeSign  = regexp.MustCompile(`\^ *\\circ`)
	thinComma   = regexp.MustCompile(`,\\! *`)
	minusSpace  = regexp.MustCompile(`- *`)
	mixedNumber = regexp.MustCompile(`([0-9]) +([0-9])`)
	floatNumber = regexp.MustCompile(strings.ReplaceAll(
		`^[+-]?(?:(?:D\.?(?:D)?|\.D)(?:[eE][+-]?D)?|(?i:inf|infinity|nan))$`, "D", "[0-9]+(?:_[0-9]+)*"))
	plainUnits = strings.Fields(`degree cm centimeter meter mile second minute hour day week month year
		foot feet inch yard liter`)
	plainUnitEnd = regexp.MustCompile(`^(?:es)?s? *(?:\^[0-9]+)?`)
)

// plainForm is the normal form of the PRM800K grader (Lightman et al. 2023) as Trinity-RFT 0.6.0 has it: dollars,
// percent and units go, "or" and "and" are commas, millions are powers of ten, whole numbers are spelled as such, LaTeX
// becomes text (detex), a mixed number is a sum, letters are small.
func plainForm(text string) string {
	if m := wholeOfText.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	text = tex.ReplaceInTurn(text, `\%`, "%", `\$`, "$", "$", "", "%", "", " or ", " , ", " and ", " , ",
		"million", "*10^6", "billion", "*10^9", "trillion", "*10^12")
	for _, unit := range plainUnits {
		text = dropUnit(text, unit)
	}
	text = degreeSign.ReplaceAllString(text, "")
	if len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' {
		text = text[1 : len(text)-1]
	}
	text = thinComma.ReplaceAllString(text, "")
	if v, ok := pyFloat(text); ok && nearWhole(v) {
		text = wholeText(math.RoundToEven(v))
	}
	if strings.Contains(text, `\`) {
		text = latexText(text)
	}
	text = minusSpace.ReplaceAllString(text, "-")
	text = strings.ToLower(mixedNumber.ReplaceAllString(text, "$1+$2"))
	if v, ok := pyFloat(ungroup(text)); ok && nearWhole(v) {
		v, _ = pyFloat(strings.ReplaceAll(text, ",", ""))
		text = wholeText(math.Trunc(v))
	}
	return text
}

// dropUnit takes out a unit everywhere, with its plural and its power.
func dropUnit(text, unit string) string {
	if !strings.Contains(text, unit) {
		return text
	}
	parts := strings.Split(text, unit)
	for i := range parts[1:] {
		p := parts[i+1]
		parts[i+1] = p[len(plainUnitEnd.FindString(p)):]
	}
	return strings.Join(parts, "")
}

// latexText is LaTeX as text, with the names and operators of a formula, and itself where that fails.
func latexText(text string) string {
	plain, err := detex(tex.ReplaceInTurn(text, `\tfrac`, `\frac`, `\dfrac`, `\frac`, `\frac`, ` \frac`))
	if err != nil {
		return text
	}
	return tex.TrimSpace(tex.ReplaceInTurn(plain, "√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*"))
}

// pyFloat reads a number as Python's float does.
func pyFloat(text string) (v float64, ok bool) {
	text = tex.TrimSpace(text)
	if !floatNumber.MatchString(text) {
		return 0, false
	}
	v, _ = strconv.ParseFloat(strings.ReplaceAll(strings.TrimLeft(text, "+-"), "_", ""), 64) // out of range is infinite
	if text[0] == '-' {
		v = -v
	}
	return v, true
}

func nearWhole(v float64) bool {
	return !math.IsInf(v, 0) && math.Abs(v-math.RoundToEven(v)) <= 1e-7
}

// wholeText is a whole number in digits.
func wholeText(v float64) string {
	n, _ := big.NewFloat(v).Int(nil)
	return n.String()
}
