package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// head describes a program, from its leading comment:
//
//	Command NAME does something, in one sentence.
//	Needs: what must be there, such as Python and pip, or nothing
//	Takes: how long, such as ten minutes
type head struct {
	Name, Does, Needs, Takes string
	file                     string // main.go or run.sh
}

// heads reads the heads of all programs below dir.
func heads(dir string) (all []head, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: run it from the root of the repository", err)
	}
	for _, e := range entries {
		for _, file := range []string{"main.go", "run.sh"} {
			path := filepath.Join(dir, e.Name(), file)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			text, err := comment(path)
			if err != nil {
				return nil, err
			}
			h, err := readHead(e.Name(), text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			h.file = path
			all = append(all, h)
		}
	}
	return all, nil
}

// comment is a Go file's package comment, or the comment at the top of a script.
func comment(path string) (string, error) {
	if filepath.Ext(path) == ".go" {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		return f.Doc.Text(), nil
	}
	script, err := os.ReadFile(path)
	var text strings.Builder
	for line := range strings.Lines(string(script)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if !strings.HasPrefix(line, "#!") {
			text.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		}
	}
	return text.String(), err
}

func readHead(name, text string) (head, error) {
	h := head{Name: name}
	first, _, _ := strings.Cut(text, "\n\n")
	rest, ok := strings.CutPrefix(strings.Join(strings.Fields(first), " "), "Command "+name+" ")
	if !ok {
		return h, fmt.Errorf("the leading comment must begin with: Command %s does …", name)
	}
	for _, end := range []string{". ", ": ", " Needs: "} { // the sentence ends before details
		rest, _, _ = strings.Cut(rest, end)
	}
	h.Does = strings.TrimSuffix(rest, ".")
	var at *string // the value that a line without a key continues
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case key == "Needs":
			at, h.Needs = &h.Needs, value
		case key == "Takes":
			at, h.Takes = &h.Takes, value
		case line == "":
			at = nil
		case at != nil:
			*at += " " + line
		}
	}
	h.Needs, h.Takes = strings.TrimSuffix(h.Needs, "."), strings.TrimSuffix(h.Takes, ".")
	if h.Does == "" || h.Needs == "" || h.Takes == "" {
		return h, fmt.Errorf("the leading comment lacks one of its lines: %q, Needs: %q, Takes: %q", h.Does, h.Needs,
			h.Takes)
	}
	return h, nil
}
