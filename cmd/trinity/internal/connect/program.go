// Package connect lets programs that people use talk to a model here: the settings that each program takes, and a
// server of one model.
package connect

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Target is a model on a server.
type Target struct {
	URL     string // without a path
	Key     string
	Model   string
	Context int  // tokens of prompt and answer together
	Tools   bool // the model's chat template has tools
}

// answer is the most tokens that a program should ask for at once. A program that asks for more than the context holds
// beside its prompt is refused.
func (t Target) answer() int { return min(t.Context/4, 32000) }

// Program is a program that people use with a model.
type Program struct {
	Name    string // of its binary
	Title   string
	Install string // a command
	Tools   bool   // it does nothing without tools
	First   int    // tokens of its first prompt, before the user's words

	settings func(Target, home) Settings
}

// home finds a file of the user.
type home func(elements ...string) string

// programs are the programs whose settings are known. Their prompts were counted with the tokenizer of SmolLM2, of
// Claude Code 2.1.197, Codex 0.171.0, opencode 1.18.33 and aider 0.86.2.
var programs = []Program{
	{"claude", "Claude Code", "npm install -g @anthropic-ai/claude-code", true, 23000, claude},
	{"codex", "Codex", "npm install -g @openai/codex", true, 6300, codex},
	{"opencode", "opencode", "npm install -g opencode-ai", true, 7700, opencode},
	{"aider", "aider", "pip install aider-chat", false, 600, aider},
}

// Find returns the program of a name.
func Find(name string) (Program, error) {
	at := slices.IndexFunc(programs, func(p Program) bool { return p.Name == name })
	if at >= 0 {
		return programs[at], nil
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Name)
	}
	return Program{}, fmt.Errorf("start: the settings of %q are not known; they are of %s. Other programs take the "+
		"address of trinity serve (docs/guide/clients.md)", name, strings.Join(names, ", "))
}

// Settings returns what the program must be told to use t. find returns the path of a file in the user's home.
func (p Program) Settings(t Target, find func(elements ...string) string) Settings {
	s := p.settings(t, find)
	s.name = p.Name
	return s
}

// Check returns why the program cannot work with t.
func (p Program) Check(t Target) error {
	if !p.Tools || t.Tools {
		return nil
	}
	return fmt.Errorf("start: the chat template of %s has no tools, and %s works through tools; choose a model "+
		"that was trained with them, such as Qwen3, name a template that has them with --chat-template FILE, or start "+
		"aider, which needs none", t.Model, p.Title)
}

// Note warns of a context in which the program's first prompt and an answer have no room; "" if they have.
func (p Program) Note(t Target) string {
	if p.First+t.answer() <= t.Context {
		return ""
	}
	return fmt.Sprintf("note: %s sends about %d tokens before your first word, and the context has %d: choose a model "+
		"with a longer one", p.Title, p.First, t.Context)
}

// Path is where the program's binary is.
func (p Program) Path() (string, error) {
	path, err := exec.LookPath(p.Name)
	if err != nil {
		return "", fmt.Errorf("start: %s is not in PATH; install %s (%s), or print its settings for a running server: "+
			"trinity start %s --print", p.Name, p.Title, p.Install, p.Name)
	}
	return path, nil
}

// Command is the program at path with its settings and further words, on this process's terminal.
func (s Settings) Command(path string, words []string) *exec.Cmd {
	cmd := exec.Command(path, append(slices.Clone(s.Args), words...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	for _, v := range s.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value) // the last of a name counts
	}
	return cmd
}
