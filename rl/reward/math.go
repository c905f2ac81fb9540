package reward

import (
	"fmt"
	"regexp"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
)

// Math is math_reward: accuracy 1 or 0 and a format_score of 0.1 or -0.1. The answer is the content of the
// first answer tag that opens and closes on one line, else the whole text, for response and truth alike.
func Math(s Sample) (Scores, error) {
	response := extract.Answer(answerText(s.Response), extract.Default())
	truth := extract.Answer(answerText(s.Truth), extract.Default())
	return Scores{
		{"accuracy", oneIf(expression.Agree(response, truth))},
		{"format_score", formatScore(thinksThenAnswers(s.Response))},
	}, nil
}

// Format is format_reward: 0.1 if the response matches the pattern from its start, else -0.1. The argument
// `pattern` replaces the default, a think block and an answer block with their content on separate lines.
func Format(s Sample) (Scores, error) {
	switch pattern := s.Args["pattern"].(type) {
	case nil:
		return Scores{{"format_score", formatScore(thinksAndAnswers(s.Response))}}, nil
	case string:
		re, err := regexp.Compile(`(?ms)\A(?:` + pattern + `)`)
		if err != nil {
			return nil, fmt.Errorf("reward: format_reward cannot use pattern %q: %w", pattern, err)
		}
		return Scores{{"format_score", formatScore(re.MatchString(s.Response))}}, nil
	default:
		return nil, fmt.Errorf("reward: format_reward wants pattern as text, got %v", pattern)
	}
}

// Accuracy is accuracy_reward: 1 if the response's answer equals the truth, else 0. Only LaTeX is read:
// from the truth the first match, or its raw text if nothing matches; from the response a box if there is
// one, else LaTeX after words that announce an answer.
func Accuracy(s Sample) (Scores, error) {
	truth := extract.Answer(s.Truth, extract.Reading{Latex: true, Anchorless: true, BoxedPriority: 50, FirstOnly: true,
		Units: true, Operators: true, Nits: true})
	if len(truth) == 0 {
		truth = []expression.Answer{{Text: s.Truth}}
	}
	response := extract.Answer(s.Response, extract.Reading{Latex: true, BoxedPriority: 0, FirstOnly: true, Units: true,
		Equations: true})
	return Scores{{"accuracy", oneIf(expression.Agree(response, truth))}}, nil
}

func answerText(text string) string {
	if content, _, ok := answerTag(text); ok {
		return content
	}
	return text
}

func formatScore(ok bool) float64 {
	if ok {
		return 0.1
	}
	return -0.1
}

func oneIf(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
