package tokenizer

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os/exec"
	"slices"
	"testing"
	"unicode/utf8"
)

var pythonFlag = flag.String("tokenizer.python", "", "a Python that has Hugging Face tokenizers")

// python is testdata/serve.py at work.
type python struct {
	in  io.Writer
	out *bufio.Reader
}

func startPython(tb testing.TB) *python {
	tb.Helper()
	cmd := exec.Command(*pythonFlag, "testdata/serve.py")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &python{in, bufio.NewReader(out)}
}

func (p *python) encode(tb testing.TB, name, text string) (ids []int32) {
	tb.Helper()
	question, err := json.Marshal([]string{name, text})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := p.in.Write(append(question, '\n')); err != nil {
		tb.Fatal(err)
	}
	answer, err := p.out.ReadBytes('\n')
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(answer, &ids); err != nil {
		tb.Fatal(err)
	}
	return ids
}

// FuzzPython compares ids with those of Hugging Face tokenizers. Run by
// testdata/python.sh.
func FuzzPython(f *testing.F) {
	if *pythonFlag == "" {
		f.Skip("run testdata/python.sh")
	}
	for i, name := range names(f) {
		for j, g := range goldens(f, name) {
			if g.Text != nil && j%4 == 0 {
				f.Add(uint8(i), *g.Text)
			}
		}
	}
	py := startPython(f)
	all := names(f)
	toks := make(map[string]*Tokenizer)
	for _, name := range all {
		toks[name] = load(f, name)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		name := all[int(which)%len(all)]
		got, want := toks[name].Encode(text, true), py.encode(t, name, text)
		if !slices.Equal(got, want) {
			t.Errorf("%s: Encode(%q) = %q, want %q", name, text, spellings(toks[name], got),
				spellings(toks[name], want))
		}
	})
}
