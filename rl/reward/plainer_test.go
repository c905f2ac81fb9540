package reward

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestWrittenOut holds what is written out for speed against the expressions it stands for, on random texts of what
// they look for.
func TestWrittenOut(t *testing.T) {
	var (
		thenAnswer   = regexp.MustCompile(`(?ms)\A.*?<think>.*?</think>\s*<answer>.*?</answer>\s*$`)
		andAnswer    = regexp.MustCompile(`(?ms)\A<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`)
		tag          = regexp.MustCompile(`<answer>(.*?)</answer>`)
		announcement = regexp.MustCompile(`(?i)(?:final answer is|the answer is|答案是)\s*[:：]?\s*`)
		number       = regexp.MustCompile(`-?\d*\.?\d+`)
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
		last, found := "", number.FindAllString(text, -1)
		if found != nil {
			last = found[len(found)-1]
		}
		if got, ok := lastNumber(text); got != last || ok != (found != nil) {
			t.Fatalf("lastNumber(%q) = %q, want %q", text, got, last)
		}
	}
}

// TestMeasures holds the dropping of units against the expressions it stands for.
func TestMeasures(t *testing.T) {
	var words []string
	var all []*regexp.Regexp
	for _, plural := range []string{"", "s"} {
		for _, w := range strings.Split(measureWords, "|") {
			words = append(words, w+plural)
			all = append(all, regexp.MustCompile(`(^|[^\p{L}\p{N}_])`+w+plural+`($|[^\p{L}\p{N}_])`))
		}
	}
	rnd := rand.New(rand.NewPCG(9, 10))
	between := []string{" ", " ", "  ", "", ".", "-", "5", "x", "é", "\xff"}
	for range 300 {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteString(words[rnd.IntN(len(words))] + between[rnd.IntN(len(between))])
		}
		want := b.String()
		for range 2 {
			for _, re := range all {
				if s := re.ReplaceAllString(want, "$1$2"); s != "" {
					want = s
				}
			}
		}
		if got := dropMeasures(b.String()); got != want {
			t.Fatalf("dropMeasures(%q) = %q, want %q", b.String(), got, want)
		}
	}
}

// TestOpenBoxes: a text full of boxes costs no more than its length, and gives what reading them one by one gives.
func TestOpenBoxes(t *testing.T) {
	for text, want := range map[string]string{
		`\boxed{1} and \boxed{2}`: "1,2", `\boxed{1}\fbox{2}, \boxed{2}`: "1,2", `\boxed{1} \boxed{2`: "{2",
		`\boxed {1}`: "1", `\boxed`: `\boxed`,
		`\boxed{\boxed{1}}`: "1", `a`: "a", `\boxed5`: "5",
	} {
		if got := openBoxes(text, allBoxes); got != want {
			t.Errorf("openBoxes(%q) = %q, want %q", text, got, want)
		}
	}
}
