package trinity

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// link is a Markdown link to a file or a heading: not to an address.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)

// Every link of a Markdown page leads to a file that exists, and to a heading that the file has.
func TestLinks(t *testing.T) {
	pages := markdown(t)
	if len(pages) < 10 {
		t.Errorf("there are %d pages", len(pages))
	}
	for path, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, heading := path, m[2]
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			} else if heading != "" && !slices.Contains(headings(pages[to]), heading) {
				t.Errorf("%s links to heading #%s of %s, which has %v", path, heading, to, headings(pages[to]))
			}
		}
	}
}

// Every page of docs, and every page at the root, can be reached from docs/README.md.
func TestEveryPageIsReachable(t *testing.T) {
	pages := markdown(t)
	reached := map[string]bool{}
	for queue := []string{filepath.Join("docs", "README.md")}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		if reached[from] {
			continue
		}
		reached[from] = true
		for _, m := range link.FindAllStringSubmatch(pages[from], -1) {
			if m[1] != "" && filepath.Ext(m[1]) == ".md" {
				queue = append(queue, filepath.Join(filepath.Dir(from), m[1]))
			}
		}
	}
	for path := range pages {
		if !reached[path] {
			t.Errorf("%s cannot be reached from docs/README.md by links", path)
		}
	}
}

// headings are the anchors of a page, as the usual renderers make them: lower case, spaces as hyphens, no punctuation.
func headings(text string) []string {
	var anchors []string
	inCode := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		title := strings.TrimLeft(line, "#")
		if inCode || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		anchors = append(anchors, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title))))
	}
	return anchors
}

// markdown reads all Markdown pages of the project.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ignored := d.Name() == "bin" || d.Name() == "checkpoints" || d.Name() == "testdata"
		if d.IsDir() && path != "." && (ignored || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" || strings.HasPrefix(path, "CHANGES-") {
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
