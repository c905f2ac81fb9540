package trinity

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// aboutTrinity is the head of llms.txt, in the form of llmstxt.org: a title, a summary, and sections of links.
const aboutTrinity = `# trinity

> Reinforcement fine-tuning of language models in one Go binary: runs Trinity-RFT's YAML, speaks the Tinker API, trains
> and samples on the CPU with bits that repeat. Start with README.md; AGENTS.md has the layout, commands and rules.
`

// docLink is a link of the index with its text.
var docLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)

// llms.txt lists the pages of docs/README.md with their purposes.
func TestLLMs(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := llms(string(index))
	if *update {
		if err := os.WriteFile("llms.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile("llms.txt"); string(got) != want {
		t.Errorf("llms.txt is not what docs/README.md gives; write it with -update:\n%s", want)
	}
}

// llms makes llms.txt of the index: its headings, and a line for each link. In a table, the first cell says what the
// link is for.
func llms(index string) string {
	text := aboutTrinity
	for line := range strings.Lines(index) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			text += "\n## " + heading + "\n"
			continue
		}
		about := ""
		if cells := strings.Split(line, "|"); len(cells) > 2 && !strings.Contains(cells[1], "](") {
			about = ": " + strings.TrimSpace(cells[1])
		}
		for _, m := range docLink.FindAllStringSubmatch(line, -1) {
			text += fmt.Sprintf("- [%s](%s)%s\n", m[1], filepath.ToSlash(filepath.Join("docs", m[2])), about)
		}
	}
	return text
}

// maxWords bounds the pages of docs, tables with their bars included, results not. A page that nobody finishes is of no
// use.
const maxWords = 25_000

// The pages of docs are short.
func TestDocsAreShort(t *testing.T) {
	words := 0
	for path, text := range markdown(t) {
		if strings.HasPrefix(path, "docs") && !strings.HasPrefix(path, filepath.Join("docs", "results")) {
			words += len(strings.Fields(text))
		}
	}
	if words > maxWords {
		t.Errorf("docs have %d words; the most is %d", words, maxWords)
	}
}

// Every guide begins with a command of trinity, before its second heading.
func TestGuidesBeginWithACommand(t *testing.T) {
	for path, text := range markdown(t) {
		if filepath.Dir(path) != filepath.Join("docs", "guide") {
			continue
		}
		begin, _, _ := strings.Cut(text, "\n## ")
		_, block, _ := strings.Cut(begin, "\n```")
		if block, _, _ = strings.Cut(block, "\n```"); !strings.Contains(block, "trinity ") {
			t.Errorf("%s does not begin with a command", path)
		}
	}
}

// foreignWords are turns of phrase that a reader stumbles over: "X is what does Y" is "X does Y".
var foreignWords = regexp.MustCompile(
	`(?i)\b(is what|are what|says else|goes on|in the mean|whoever|stands in|for people|by itself|that of|those of)\b`)

// Pages are in plain English.
func TestPlainWords(t *testing.T) {
	for path, text := range markdown(t) {
		for _, m := range foreignWords.FindAllString(text, -1) {
			t.Errorf("%s says %q", path, m)
		}
	}
}
