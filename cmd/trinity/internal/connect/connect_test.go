package connect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var target = Target{URL: "http://127.0.0.1:1234", Key: "tml-x", Model: "it's/m", Context: 40000, Tools: true}

// What a file says is what the variables and words say, and it is written once, for its owner alone.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	inHome := func(elements ...string) string { return filepath.Join(append([]string{"home"}, elements...)...) }
	for name, want := range map[string][]string{
		"claude": {`"ANTHROPIC_MODEL": "it's/m"`, `"ANTHROPIC_API_KEY": ""`,
			`"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "10000"`},
		"codex":    {`model = "it's/m"`, `base_url = "http://127.0.0.1:1234/v1"`, "model_context_window = 40000\n"},
		"opencode": {`"baseURL": "http://127.0.0.1:1234/v1"`, `"model": "trinity/it's/m"`, `"output": 10000`},
		"aider":    {`openai-api-key: "tml-x"`, `model: "openai/it's/m"`},
	} {
		p, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Settings(target, inHome)
		if err := s.Write(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(s.File)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(string(data), line) {
				t.Errorf("%s: %s lacks %s:\n%s", name, s.File, line, data)
			}
		}
		if strings.HasSuffix(s.File, ".json") && !json.Valid(data) {
			t.Errorf("%s: %s is no JSON:\n%s", name, s.File, data)
		}
		if st, err := os.Stat(s.File); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: others may read %s: %v, %v", name, s.File, st.Mode(), err)
		}
		if err := s.Write(); err == nil || !strings.Contains(err.Error(), s.File+" exists and is not overwritten") {
			t.Errorf("%s: written again: %v", name, err)
		}
	}
	if _, err := os.Stat(inHome(".codex", "trinity.config.toml")); err != nil {
		t.Error(err)
	}
}

// A program that is not installed is named with the command that installs it.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range programs {
		path, err := p.Path()
		if err == nil || !strings.Contains(err.Error(), p.Name+" is not in PATH; install") ||
			!strings.Contains(err.Error(), p.Install) {
			t.Errorf("%s: %q, %v", p.Name, path, err)
		}
	}
}

func TestQuote(t *testing.T) {
	v := Variable{"A", "it's $x"}
	for powershell, want := range map[bool]string{false: `export A='it'\''s $x'`, true: "$env:A = 'it''s $x'"} {
		if got := export(v, powershell); got != want {
			t.Errorf("export is %s, want %s", got, want)
		}
	}
}

// The first prompt needs room, and an answer too.
func TestNote(t *testing.T) {
	p := Program{Title: "Tool", First: 3000}
	for context, noted := range map[int]bool{512: true, 3900: true, 4000: false, 1 << 20: false} {
		if note := p.Note(Target{Context: context}); (note != "") != noted {
			t.Errorf("with a context of %d the note is %q", context, note)
		}
	}
}
