package document

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

func isNullWord(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// ParseBool reads the words that YAML 1.1 and its users know for true and false, in any case.
func ParseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1", "y":
		return true, true
	case "false", "no", "off", "0", "n":
		return false, true
	}
	return false, false
}

// ParseInt reads decimal, 0x, 0o and 0b integers, with underscores between digits. A leading zero does not mean octal.
func ParseInt(s string) (int64, bool) {
	digits := strings.TrimLeft(s, "+-")
	base := 10
	if len(digits) > 2 && digits[0] == '0' && strings.ContainsRune("xXoObB", rune(digits[1])) {
		base = 0
	}
	if strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return 0, false
	}
	if base == 10 {
		s = strings.ReplaceAll(s, "_", "")
	}
	v, err := strconv.ParseInt(s, base, 64)
	return v, err == nil
}

// number matches what counts as a decimal number without quotes: 1e-6 does, without a dot.
var number = regexp.MustCompile(`^[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)([eE][-+]?\d+)?$`)

// ParseFloat reads finite decimal numbers and integers.
func ParseFloat(s string) (float64, bool) {
	if !number.MatchString(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return v, err == nil
}

// parseSpecial reads the infinities and NaN as YAML writes them.
func parseSpecial(s string) (float64, bool) {
	switch strings.ToLower(s) {
	case ".inf", "+.inf":
		return math.Inf(1), true
	case "-.inf":
		return math.Inf(-1), true
	case ".nan":
		return math.NaN(), true
	}
	return 0, false
}

// Value is the node as an untyped value: nil, bool, int, float64, string, []any or map[string]any.
func (n *Node) Value() any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Key] = f.Value.Value()
		}
		return m
	case Sequence:
		s := make([]any, len(n.Items))
		for i, item := range n.Items {
			s[i] = item.Value()
		}
		return s
	}
	return n.ScalarValue()
}

// ScalarValue gives a plain scalar the type that YAML 1.1 does, except that there are no dates and no octal numbers.
func (n *Node) ScalarValue() any {
	if n.Quoted {
		return n.Text
	}
	if isNullWord(n.Text) {
		return nil
	}
	switch strings.ToLower(n.Text) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	if i, ok := ParseInt(n.Text); ok {
		return int(i)
	}
	if f, ok := ParseFloat(n.Text); ok {
		return f
	}
	if f, ok := parseSpecial(n.Text); ok {
		return f
	}
	return n.Text
}
