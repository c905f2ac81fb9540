package tool

import "strings"

// findCode finds the code of an answer: the first <python>…</python> or ```python…``` (a line break may come before
// the word python), whichever ends first. It returns the code without space around it and where the block ends. An
// empty block is no call: GEM rewards it as one.
func findCode(action string) (code string, until int, ok bool) {
	for _, mark := range [][2]string{{"<python>", "</python>"}, {"```python", "```"}, {"```\npython", "```"}} {
		begin := strings.Index(action, mark[0])
		if begin < 0 {
			continue
		}
		begin += len(mark[0])
		length := strings.Index(action[begin:], mark[1])
		if length < 0 {
			continue
		}
		end := begin + length + len(mark[1])
		if !ok || end <= until {
			code, until, ok = strings.Trim(action[begin:begin+length], pythonSpace), end, true
		}
	}
	return code, until, ok && code != ""
}

// pythonSpace is the white space that Python's strip removes.
const pythonSpace = " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0"
