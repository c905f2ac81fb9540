package reward

import "strings"

// Explain tells what the function of a name in Funcs compares: what it reads in a response, "" if it finds nothing, and
// what it reads in the truth. ok is false for functions that compare nothing, and for those of other programs.
func Explain(name, response, truth string) (extracted, expected string, ok bool) {
	switch name {
	case "math_reward":
		return spelling(answerText(response), defaultReading()), spelling(answerText(truth), defaultReading()), true
	case "accuracy_reward":
		r := reading{latex: true, firstOnly: true, units: true, equations: true}
		return spelling(response, r), truth, true
	case "math_boxed_reward":
		extracted, _ = lastBoxContent(response)
		if expected, ok = lastBoxContent(truth); !ok {
			expected = truth
		}
		return extracted, expected, true
	case "countdown_reward":
		line := response[strings.LastIndexByte(response, '\n')+1:]
		for content, rest, ok := answerTag(line); ok; content, rest, ok = answerTag(rest) {
			extracted = strings.TrimSpace(content)
		}
		return extracted, truth, true
	}
	return "", "", false
}

// spelling is the answer in a text as it is spelled there.
func spelling(text string, r reading) string {
	list := readAnswer(text, r)
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(list[len(list)-1].text)
}
