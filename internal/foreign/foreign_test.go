package foreign

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTextCannotForgeLinesNorMoveTheCursor(t *testing.T) {
	for in, want := range map[string]struct{ line, text string }{
		"gpu-3":             {"gpu-3", "gpu-3"},
		"größe 三　👩‍🔬 ":      {"größe 三　👩‍🔬 ", "größe 三　👩‍🔬 "},
		"a\nINFO forged":    {`a\nINFO forged`, "a\n  INFO forged"},
		"a\r\nb\r\n":        {`a\r\nb\r\n`, "a\n  b"},
		"over\rwritten":     {`over\rwritten`, `over\rwritten`},
		"\x1b[2Jgone\x1b[m": {`\x1b[2Jgone\x1b[m`, `\x1b[2Jgone\x1b[m`},
		"\u009b2J":          {`\u009b2J`, `\u009b2J`}, // the same in one character
		"\u202egnp.exe":     {`\u202egnp.exe`, `\u202egnp.exe`},
		"a\u2028b":          {`a\u2028b`, `a\u2028b`},
		"a\tb\x00":          {`a\tb\x00`, "a\tb\\x00"},
		"\xff\xc3":          {`\xff\xc3`, `\xff\xc3`},
		"a\ufffdb'\"":       {"a\ufffdb'\"", "a\ufffdb'\""},
	} {
		if got := Line(in); got != want.line {
			t.Errorf("Line(%q) is %q; want %q", in, got, want.line)
		}
		if got := Text(in); got != want.text {
			t.Errorf("Text(%q) is %q; want %q", in, got, want.text)
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	long := strings.Repeat("ü", 150<<10)
	for name, c := range map[string]struct {
		got  string
		most int
	}{"line": {Line(long), maxLine}, "text": {Text(long), MaxText}, "cut": {Cut(long, 11), 11}} {
		want := strings.Repeat("ü", c.most/2) + "… (cut; 307200 bytes in all)"
		if c.got != want {
			t.Errorf("%s: %d bytes that end with %q", name, len(c.got), c.got[len(c.got)-40:])
		}
	}
	if got := Cut(strings.Repeat("\x80", 20), 10); !strings.HasSuffix(got, "(cut; 20 bytes in all)") {
		t.Errorf("bytes that begin no character: %q", got)
	}
	if got := Plain(long + "\x1b"); got != long+`\x1b` {
		t.Errorf("a text that was asked for has %d bytes", len(got))
	}
}

func TestHandlersBoundRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(Handler(slog.NewTextHandler(&out, nil)))
		long := strings.Repeat("x", 300<<10)
		for range 200 {
			log.With("of", long).WithGroup("g").Warn("request refused", "path", long+"\x1b", "error", errors.New(long),
				slog.Group("in", "host", long), "n", 7)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != perPeriod || out.Len() > perPeriod*5<<10 {
			t.Errorf("200 records wrote %d lines and %d bytes", len(lines), out.Len())
		}
		if !strings.Contains(lines[0], "g.n=7") || !strings.Contains(lines[perPeriod-1], "are left out for up to") {
			t.Errorf("the last line is %q", lines[perPeriod-1])
		}
		time.Sleep(period)
		out.Reset()
		log.Warn("request refused", "path", "/\x1b[2J")
		if got := out.String(); !strings.Contains(got, "150 lines like this were left out") ||
			!strings.Contains(got, `path="/\x1b[2J"`) {
			t.Errorf("a minute later: %q", got)
		}
		out.Reset()
		for range 2 * perPeriod {
			log.Info("checkpoint deleted") // what clients with a key do is told in full
		}
		if got := strings.Count(out.String(), "\n"); got != 2*perPeriod {
			t.Errorf("%d of %d informations", got, 2*perPeriod)
		}
	})
}

func TestKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rate
		for n := range 2 {
			written := 0
			for i := range 2 * mostKinds {
				if _, ok := r.Allow(strconv.Itoa(i + n*mostKinds)); ok {
					written++
				}
			}
			if len(r.kinds) > mostKinds+1 || written > mostKinds+perPeriod {
				t.Errorf("%d kinds are remembered, %d lines written", len(r.kinds), written)
			}
			time.Sleep(period) // old kinds are forgotten
		}
	})
}

func TestLimit(t *testing.T) {
	if Limit(nil) != nil {
		t.Error("nobody is told, and a function is called")
	}
	var got []string
	log := Limit(func(line string) { got = append(got, line) })
	for range 200 {
		log("the model does not answer: " + strings.Repeat("x\n", 100<<10))
	}
	log("something else")
	if len(got) != perPeriod+1 || len(got[0]) > 2*maxLine || strings.Contains(got[0], "\n") ||
		!strings.Contains(got[perPeriod-1], "are left out") {
		t.Errorf("%d lines, the first of %d bytes", len(got), len(got[0]))
	}
}
