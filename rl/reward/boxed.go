package reward

import (
	"cmp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// MathBoxed is math_boxed_reward: accuracy 1 if the response's last box and the truth (its last box, if it
// has one) are the same text once normalised. With the argument with_think, format_score is
// −format_score_coef (0.1 unless given) if the think tags are not exactly one pair in order, else 0.
func MathBoxed(s Sample) (Scores, error) {
	given := arg.Read(s.Args)
	withThink, coef := given.Bool("with_think", false), given.Float("format_score_coef", 0.1)
	if err := rewardArgs(given); err != nil {
		return nil, err
	}
	coef = cmp.Or(coef, 0.1)
	format := 0.0
	if withThink && !thinksOnce(s.Response) {
		format = -coef
	}
	return Scores{{"accuracy", oneIf(sameBox(s.Response, s.Truth))}, {"format_score", format}}, nil
}

func thinksOnce(text string) bool {
	start, end := strings.Index(text, "<think>"), strings.Index(text, "</think>")
	return strings.Count(text, "<think>") == 1 && strings.Count(text, "</think>") == 1 && start < end
}

func sameBox(response, truth string) bool {
	got, ok := lastBoxContent(response)
	if !ok {
		return false
	}
	want := truth
	if _, has := lastBoxed(truth); has {
		if want, ok = lastBoxContent(truth); !ok {
			return false
		}
	}
	return got == want || len(got) <= tex.MaxAnswer && tex.StripString(got) == tex.StripString(want)
}

// lastBoxed is the last \boxed{…} (or, without any, \fbox{…}) of a text. The form `\boxed 5`, anywhere
// in the text, comes first and reaches to the next dollar sign.
func lastBoxed(text string) (string, bool) {
	if i := strings.LastIndex(text, `\boxed `); i >= 0 {
		box, _, _ := strings.Cut(text[i:], "$")
		return box, true
	}
	start := strings.LastIndex(text, `\boxed`)
	if start < 0 {
		start = strings.LastIndex(text, `\fbox`)
	}
	if start < 0 {
		return "", false
	}
	open := strings.IndexByte(text[start:], '{')
	if open < 0 {
		return "", false
	}
	end := tex.ClosingBrace(text, start+open)
	if end < 0 {
		return "", false
	}
	return text[start : end+1], true
}

// lastBoxContent is the content of the last box. Upstream cannot read an \fbox.
func lastBoxContent(text string) (string, bool) {
	box, ok := lastBoxed(text)
	if !ok {
		return "", false
	}
	if rest, found := strings.CutPrefix(box, `\boxed `); found {
		return rest, true
	}
	if rest, found := strings.CutPrefix(box, `\boxed{`); found {
		return strings.TrimSuffix(rest, "}"), true
	}
	return "", false
}
