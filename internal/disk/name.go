package disk

import "strings"

// Name turns any text into a file name that every file system accepts: each character except ASCII letters, digits and
// ._-+=@ becomes _.
func Name(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+=@", r) {
			return r
		}
		return '_'
	}, text)
}
