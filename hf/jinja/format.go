package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// percent is format % v with the conversions s r d i f x e g and %.
func (r *run) percent(format string, v Value) (Value, error) {
	list, ok := v.(Tuple)
	if !ok {
		list = Tuple{v}
	}
	b := r.buffer()
	for {
		plain, rest, found := strings.Cut(format, "%")
		if err := b.write(plain); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		n := span(rest, func(c byte) bool { return isDigit(c) || strings.IndexByte("-+ #.", c) >= 0 })
		if n == len(rest) || n > 8 {
			return nil, fmt.Errorf("incomplete format")
		}
		flags, verb := rest[:n], rest[n]
		format = rest[n+1:]
		if verb == '%' {
			b.put("%")
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("not enough arguments for the format string")
		}
		item, err := r.convert(flags, verb, list[0])
		if err != nil {
			return nil, err
		}
		list = list[1:]
		b.put(item)
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("not all arguments converted during string formatting")
	}
	return string(b.text), nil
}

// maxWidth bounds the width and precision of a conversion.
const maxWidth = 1000

func (r *run) convert(flags string, verb byte, v Value) (string, error) {
	for part := range strings.SplitSeq(strings.Trim(flags, "-+ #0"), ".") {
		if n, err := strconv.Atoi(part); err == nil && n > maxWidth {
			return "", fmt.Errorf("a format wider than %d", maxWidth)
		}
	}
	n, isNumber := number(v)
	switch verb {
	case 's':
		s, err := r.str(v)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%"+flags+"s", s), r.spend("format", textSteps(len(s)), len(s))
	case 'r':
		b := r.buffer()
		err := r.repr(b, v, 0)
		return fmt.Sprintf("%"+flags+"s", b.text), err
	case 'd', 'i':
		if f, ok := n.(float64); ok {
			n = int64(f)
		}
		if isNumber {
			return fmt.Sprintf("%"+flags+"d", n), nil
		}
	case 'x', 'X', 'o':
		if i, ok := n.(int64); ok {
			return fmt.Sprintf("%"+flags+string(verb), i), nil
		}
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if isNumber {
			return fmt.Sprintf("%"+flags+string(verb), toFloat(n)), nil
		}
	}
	return "", fmt.Errorf("format %%%c does not take %s", verb, typeName(v))
}
