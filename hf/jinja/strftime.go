package jinja

import (
	"fmt"
	"strings"
	"time"
)

// layout returns the Go layout of a directive of strftime in the C locale, ""
// where there is none.
func layout(c byte) string {
	return map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06",
		'Y': "2006", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02",
		'T': "15:04:05", 'X': "15:04:05", 'D': "01/02/06", 'x': "01/02/06", 'R': "15:04",
		'c': "Mon Jan _2 15:04:05 2006",
	}[c]
}

// strftime formats a time as Python's datetime.strftime of a time without zone
// does; a minus after % drops leading zeros.
func strftime(t time.Time, format string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		text, err := directive(t, format[i])
		if err != nil {
			return "", err
		}
		if bare {
			if text = strings.TrimLeft(text, "0 "); text == "" {
				text = "0"
			}
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func directive(t time.Time, c byte) (string, error) {
	if l := layout(c); l != "" {
		return t.Format(l), nil
	}
	switch c {
	case '%':
		return "%", nil
	case 'n':
		return "\n", nil
	case 't':
		return "\t", nil
	case 'z', 'Z':
		return "", nil
	case 'w':
		return fmt.Sprint(int(t.Weekday())), nil
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1), nil
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), nil
	case 's':
		return fmt.Sprint(t.Unix()), nil
	}
	return "", fmt.Errorf("strftime: directive %%%c is not supported", c)
}
