package reward

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestWrittenOut compares code that is written out for speed with its expressions, on random texts of the words that
// they look for.
func TestWrittenOut(t *testing.T) {
	var (
		thenAnswer   = regexp.MustCompile(`(?ms)\A.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`)
		andAnswer    = regexp.MustCompile(`(?ms)\A<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`)
		tag          = regexp.MustCompile(`<answer>(.*?)</answer>`)
		announcement = regexp.MustCompile(`(?i)(?:final answer is|the answer is|答案是)\s*[:：]?\s*`)
	)
	parts := strings.Split(`<think>|</think>|<answer>|</answer>|<think>#|#</think>#<answer>#|#</answer>|#| |  |x|y|`+
		`the answer is|Final Answer is|答案是|最终答案是|:|：|1|23|.|-|-4.5|a|cm|m|ms|sq m|q x|cms|_|é|%`, "|")
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		var b strings.Builder
		for range rnd.IntN(10) {
			b.WriteString(strings.ReplaceAll(parts[rnd.IntN(len(parts))], "#", "\n"))
		}
		text := b.String()
		if got, want := thinksThenAnswers(text), thenAnswer.MatchString(text); got != want {
			t.Fatalf("thinksThenAnswers(%q) = %v", text, got)
		}
		if got, want := thinksAndAnswers(text), andAnswer.MatchString(text); got != want {
			t.Fatalf("thinksAndAnswers(%q) = %v", text, got)
		}
		var tags []string
		for content, rest, ok := answerTag(text); ok; content, rest, ok = answerTag(rest) {
			tags = append(tags, content)
		}
		var wanted []string
		for _, m := range tag.FindAllStringSubmatch(text, -1) {
			wanted = append(wanted, m[1])
		}
		if strings.Join(tags, "|") != strings.Join(wanted, "|") || len(tags) != len(wanted) {
			t.Fatalf("tags of %q are %q, want %q", text, tags, wanted)
		}
		end := -1
		if m := announcement.FindAllStringIndex(text, -1); m != nil {
			end = m[len(m)-1][1]
		}
		if got := afterAnnouncement(text); got != end {
			t.Fatalf("afterAnnouncement(%q) = %d, want %d", text, got, end)
		}
	}
}
