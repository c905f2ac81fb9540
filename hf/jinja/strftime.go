package jinja

import (
	"fmt"
	"strings"
	"time"
)

// layout returns the Go layout of a directive of strftime in the C locale, ""
// where there is none.
func layout(c byte) string {
	switch c {
	case 'a':
		return "Mon"
	case 'A':
		return "Monday"
	case 'b', 'h':
		return "Jan"
	case 'B':
		return "January"
	case 'd':
		return "02"
	case 'e':
		return "_2"
	case 'm':
		return "01"
	case 'y':
		return "06"
	case 'Y':
		return "2006"
	case 'H':
		return "15"
	case 'I':
		return "03"
	case 'M':
		return "04"
	case 'S':
		return "05"
	case 'p':
		return "PM"
	case 'j':
		return "002"
	case 'F':
		return "2006-01-02"
	case 'T', 'X':
		return "15:04:05"
	case 'D', 'x':
		return "01/02/06"
	case 'R':
		return "15:04"
	case 'c':
		return "Mon Jan _2 15:04:05 2006"
	}
	return ""
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
