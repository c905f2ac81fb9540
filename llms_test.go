package trinity

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write llms.txt")

// aboutTrinity is the head of llms.txt, in the form of llmstxt.org: a title, a summary, and sections of links.
const aboutTrinity = `# trinity

> Reinforcement fine-tuning of language models in one Go binary: runs Trinity-RFT's YAML, speaks the Tinker API, trains
> and samples on the CPU with bits that repeat. Start with README.md; AGENTS.md has the layout, commands and rules.
`

// docLink is a link of the index with its text.
var docLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)

// llms.txt lists the pages of docs/README.md, with what each is for.
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
