package jinja

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatSpec is [[fill]align][sign][#][0][width][grouping][.precision][type],
// Python's format specification ("Format Specification Mini-Language", the
// Python Library Reference).
type formatSpec struct {
	fill      rune
	align     byte // < > ^ =, 0 if not given
	sign      byte // + - or space
	alternate bool
	width     int
	group     string // "", "," or "_"
	precision int    // -1 if not given
	verb      byte   // 0 if not given
}

func parseSpec(s string) (formatSpec, error) {
	f := formatSpec{fill: ' ', sign: '-', precision: -1}
	whole := s
	if r, n := utf8.DecodeRuneInString(s); n < len(s) && strings.IndexByte("<>^=", s[n]) >= 0 {
		f.fill, f.align, s = r, s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		f.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		f.sign, s = s[0], s[1:]
	}
	s, f.alternate = strings.CutPrefix(s, "#")
	if rest, zero := strings.CutPrefix(s, "0"); zero {
		s = rest
		if f.align == 0 {
			f.fill, f.align = '0', '='
		}
	}
	var err1, err2 error
	f.width, s, err1 = leadingInt(s, 0)
	if s != "" && (s[0] == ',' || s[0] == '_') {
		f.group, s = s[:1], s[1:]
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		f.precision, s, err2 = leadingInt(rest, -1)
		if f.precision < 0 {
			return f, fmt.Errorf("format: %q has no precision after its point", whole)
		}
	}
	if len(s) > 1 || err1 != nil || err2 != nil || f.width > maxWidth || f.precision > maxWidth {
		return f, fmt.Errorf("format: %q is not a format specification, or wider than %d", whole, maxWidth)
	}
	if s != "" {
		f.verb = s[0]
	}
	return f, nil
}

// leadingInt takes the digits at the start of s.
func leadingInt(s string, none int) (int, string, error) {
	n := span(s, isDigit)
	if n == 0 {
		return none, s, nil
	}
	i, err := strconv.Atoi(s[:n])
	return i, s[n:], err
}

// formatValue is Python's format(v, spec).
func (r *run) formatValue(v Value, spec string) (string, error) {
	if spec == "" {
		return r.str(v)
	}
	f, err := parseSpec(spec)
	if err != nil {
		return "", err
	}
	if s, ok := v.(string); ok {
		if err := r.spend("format", len(s)/8, len(s)); err != nil {
			return "", err
		}
		return f.text(s)
	}
	n, ok := number(v)
	if !ok {
		return "", fmt.Errorf("format: %q does not apply to %s", spec, typeName(v))
	}
	if i, ok := n.(int64); ok && strings.IndexByte("eEfFgG%", f.verb) < 0 || f.verb == 0 && ok {
		return f.integer(i)
	}
	return f.float(toFloat(n))
}

func (f formatSpec) text(s string) (string, error) {
	if f.verb != 0 && f.verb != 's' || f.align == '=' || f.sign != '-' || f.group != "" {
		return "", fmt.Errorf("format: the specification does not apply to a string")
	}
	if f.precision >= 0 && utf8.RuneCountInString(s) > f.precision {
		s = string([]rune(s)[:f.precision])
	}
	f.align = cmp.Or(f.align, '<')
	return f.pad("", s), nil
}

func (f formatSpec) integer(i int64) (string, error) {
	base, prefix := 10, ""
	switch f.verb {
	case 0, 'd', 'n':
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	default:
		return "", fmt.Errorf("format: type %c does not apply to an integer", f.verb)
	}
	if f.precision >= 0 {
		return "", fmt.Errorf("format: an integer takes no precision")
	}
	digits := strings.TrimPrefix(strconv.FormatInt(i, base), "-")
	if !f.alternate {
		prefix = ""
	}
	if f.verb == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	every := 3
	if base != 10 {
		every = 4
	}
	return f.number(f.signOf(i < 0)+prefix, digits, "", every), nil
}

func (f formatSpec) float(x float64) (string, error) {
	sign, tail := f.signOf(math.Signbit(x) && !math.IsNaN(x)), ""
	x = math.Abs(x)
	digits := ""
	precision := f.precision
	if precision < 0 && f.verb != 0 {
		precision = 6
	}
	switch f.verb {
	case 0:
		digits = f.plain(x)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'n':
		verb := f.verb
		if verb == 'n' {
			verb = 'g'
		}
		digits = fmt.Sprintf("%."+strconv.Itoa(precision)+string(verb), x)
	case '%':
		digits, tail = strconv.FormatFloat(100*x, 'f', precision, 64), "%"
	default:
		return "", fmt.Errorf("format: type %c does not apply to a float", f.verb)
	}
	if math.IsInf(x, 0) || math.IsNaN(x) {
		digits = strings.ToLower(strings.TrimPrefix(digits, "+"))
	}
	end := span(digits, isDigit)
	return f.number(sign, digits[:end], digits[end:]+tail, 3), nil
}

// plain is a float without type: as str has it, or with a precision as g, but
// never looking like an integer.
func (f formatSpec) plain(x float64) string {
	if f.precision < 0 {
		return formatFloat(x)
	}
	s := fmt.Sprintf("%."+strconv.Itoa(max(f.precision, 1))+"g", x)
	if span(s, isDigit) == len(s) {
		if len(s) >= f.precision && f.precision > 0 { // ".0" would be a digit too many
			return strconv.FormatFloat(x, 'e', f.precision-1, 64)
		}
		s += ".0"
	}
	return s
}

func (f formatSpec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign == '-':
		return ""
	}
	return string(f.sign)
}

// number puts a number together: the text before its digits, the digits before
// the point in groups, and the rest. Zeros that fill are grouped too.
func (f formatSpec) number(before, digits, after string, every int) string {
	f.align = cmp.Or(f.align, '>')
	grouped := groups(digits, f.group, every)
	if f.group != "" && f.fill == '0' && f.align == '=' {
		for len(before)+len(grouped)+len(after) < f.width {
			digits = "0" + digits
			grouped = groups(digits, f.group, every)
		}
	}
	return f.pad(before, grouped+after)
}

func groups(digits, sep string, every int) string {
	if sep == "" {
		return digits
	}
	out := ""
	for len(digits) > every {
		out = sep + digits[len(digits)-every:] + out
		digits = digits[:len(digits)-every]
	}
	return digits + out
}

// pad fills up to the width; with the alignment = between before and s.
func (f formatSpec) pad(before, s string) string {
	missing := max(0, f.width-utf8.RuneCountInString(before)-utf8.RuneCountInString(s))
	fill := func(n int) string { return strings.Repeat(string(f.fill), n) }
	switch f.align {
	case '=':
		return before + fill(missing) + s
	case '>':
		return fill(missing) + before + s
	case '^':
		return fill(missing/2) + before + s + fill(missing-missing/2)
	}
	return before + s + fill(missing)
}
