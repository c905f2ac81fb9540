package disk

import "strings"

// Name makes a name out of any text that every file system takes: each character but letters and digits of ASCII and
// ._-+=@ becomes _.
func Name(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+=@", r) {
			return r
		}
		return '_'
	}, text)
}
