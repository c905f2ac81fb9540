package game

import "strings"

// page is how many bytes of text share one piece of memory.
const page = 2048

// paper makes strings of bytes, many in one piece of memory. The strings stay when the paper goes.
type paper struct{ sheet strings.Builder }

// write returns text as a string.
func (p *paper) write(text []byte) string {
	if p.sheet.Cap()-p.sheet.Len() < len(text) {
		p.sheet = strings.Builder{}
		p.sheet.Grow(max(page, len(text)))
	}
	at := p.sheet.Len()
	p.sheet.Write(text)
	return p.sheet.String()[at:]
}
