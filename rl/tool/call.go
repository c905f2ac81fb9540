package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// call is a call of an MCP tool as a model writes it.
type call struct {
	name      string
	arguments any    // decoded JSON; an object unless the model made a mistake
	block     string // the text of the call
}

// callPattern is GEM's form of a call.
var callPattern = regexp.MustCompile(
	`(?s)<tool_call>\s*<tool_name>([^<]+)</tool_name>\s*<arguments>(.*?)</arguments>\s*</tool_call>`)

// findCall finds the first call of an answer. One whose arguments are not JSON is none, as in GEM.
func findCall(action string) (c call, ok bool) {
	m := callPattern.FindStringSubmatch(action)
	if m == nil {
		return c, false
	}
	c = call{name: strings.Trim(m[1], pythonSpace), arguments: map[string]any{}, block: m[0]}
	given := strings.Trim(m[2], pythonSpace)
	if given == "" {
		return c, true
	}
	d := json.NewDecoder(strings.NewReader(given))
	d.UseNumber() // numbers reach the server as they were written
	c.arguments = nil
	if err := d.Decode(&c.arguments); err != nil {
		return call{}, false
	}
	_, err := d.Token() // nothing may follow
	return c, err == io.EOF
}

// pythonJSON is a value as Python's json.dumps writes it: a space after commas and colons, and ASCII only. Keys of maps
// are sorted.
func pythonJSON(v any) (string, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	var b strings.Builder
	quoted := false
	for data := bytes.TrimSuffix(raw.Bytes(), []byte("\n")); len(data) > 0; {
		r, n := utf8.DecodeRune(data)
		switch {
		case quoted && r == '\\': // and the character after it
			n = 2
			b.Write(data[:n])
		case r == '"':
			quoted = !quoted
			b.WriteRune(r)
		case !quoted && (r == ',' || r == ':'):
			b.WriteRune(r)
			b.WriteByte(' ')
		case r < 0x80:
			b.WriteRune(r)
		case r >= 0x10000:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		data = data[n:]
	}
	return b.String(), nil
}
