package python

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// lines are one of each form, and some that are none.
var lines = []struct {
	line string
	ok   bool
}{
	{`{"id":7,"result":null}`, true},
	{`{"id":7,"result":{"reward":1.5}}`, true},
	{`{"id":7,"error":{"type":"ValueError","message":"m","traceback":"t"}}`, true},
	{`{"up":3,"of":7,"call":"model.chat","args":{"messages":[]}}`, true},
	{`{"log":{"of":7,"level":"info","text":"x"}}`, true},
	{`{"where":{"of":7,"stack":"  File"}}`, true},
	{`{"hello":{"protocol":1,"python":"3.12.1","executable":"/usr/bin/python3","pid":3}}`, true},
	{`{"id":7}`, false},
	{`{"id":7,"result":1,"error":{"type":"E"}}`, false},
	{`{"id":0,"result":1}`, false},
	{`{"id":-1,"result":1}`, false},
	{`{"id":7,"up":3,"result":1}`, false},
	{`{"up":3,"call":"model.chat"}`, false},
	{`{"id":7,"result":NaN}`, false},
	{`{"id":7,"result":1} {"id":8,"result":1}`, false},
	{`{}`, false}, {`null`, false}, {`[]`, false}, {``, false}, {`hello`, false},
}

func TestParse(t *testing.T) {
	for _, tt := range lines {
		if m, err := parse([]byte(tt.line)); (err == nil) != tt.ok {
			t.Errorf("%s: %+v, %v", tt.line, m, err)
		}
	}
}

// FuzzParse: whatever arrives is one form or an error, never a panic or an answer without content.
func FuzzParse(f *testing.F) {
	for _, tt := range lines {
		f.Add([]byte(tt.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			return
		}
		if m.ID != 0 && m.Result == nil && m.Error == nil {
			t.Errorf("%q is an answer without content", line)
		}
		if m.Result != nil && !json.Valid(m.Result) || m.Args != nil && !json.Valid(m.Args) {
			t.Errorf("%q holds no JSON", line)
		}
	})
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 100)
	r := bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"\n"+long+"y\n"), 16)
	for _, want := range []string{"a", "", long} {
		if got, err := readLine(r, 100); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := readLine(r, 100); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Error(err)
	}
	r = bufio.NewReader(strings.NewReader("part"))
	if _, err := readLine(r, 100); err == nil || !strings.Contains(err.Error(), "within a message") {
		t.Error(err)
	}
	if _, err := readLine(r, 100); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestCallLine: what goes out is one line of JSON, whatever the name and the arguments are.
func TestCallLine(t *testing.T) {
	for _, name := range []string{"a.b", "with \"quotes\"", "line\nend", "ä\x00\x7f\u2028", "\xff"} {
		line, err := callLine(7, name, json.RawMessage("{\"x\":\n 1}"))
		if err != nil || bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
			t.Errorf("%q: %q, %v", name, line, err)
		}
	}
	if _, err := callLine(7, "x", func() {}); err == nil {
		t.Error("a function as arguments")
	}
}
