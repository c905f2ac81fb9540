package reward

import "strings"

// answerTag finds the first answer tag that opens and closes on one line: its content, and the text after it.
func answerTag(text string) (content, rest string, ok bool) {
	const open, shut = "<answer>", "</answer>"
	for {
		i := strings.Index(text, open)
		if i < 0 {
			return "", "", false
		}
		text = text[i+len(open):]
		end := strings.Index(text, shut)
		if end < 0 {
			return "", "", false
		}
		line := strings.LastIndexByte(text[:end], '\n')
		if line < 0 {
			return text[:end], text[end+len(shut):], true
		}
		text = text[line+1:] // what opened before the line's end does not close on its line
	}
}

// lineEnds reports whether `\s*$` matches at the start of text; $ ends any line, as in Python with re.MULTILINE.
func lineEnds(text string) bool {
	rest := strings.TrimLeft(text, " \t\r\f")
	return rest == "" || rest[0] == '\n'
}

// thinksThenAnswers is `(?s)\A.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`.
func thinksThenAnswers(text string) bool {
	_, text, ok := strings.Cut(text, "<think>")
	for ok {
		if _, text, ok = strings.Cut(text, "</think>"); !ok {
			return false
		}
		if text, found := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n\f"), "<answer>"); found {
			return endsLine(text, "</answer>", lineEnds)
		}
	}
	return false
}

// thinksAndAnswers is `(?s)\A<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`.
func thinksAndAnswers(text string) bool {
	text, ok := strings.CutPrefix(text, "<think>\n")
	if !ok {
		return false
	}
	if _, text, ok = strings.Cut(text, "\n</think>\n<answer>\n"); !ok {
		return false
	}
	return endsLine(text, "\n</answer>", func(rest string) bool { return rest == "" || rest[0] == '\n' })
}

// endsLine reports whether one of the marks in text has what ends says after it.
func endsLine(text, mark string, ends func(rest string) bool) bool {
	for {
		var ok bool
		if _, text, ok = strings.Cut(text, mark); !ok {
			return false
		}
		if ends(text) {
			return true
		}
	}
}
