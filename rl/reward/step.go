package reward

import "github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"

// Step applies a step of the graders to a text, by the name that it has in Trinity-RFT's qwen25_eval. found is false if
// the step finds nothing in the text; known is false if there is no such step.
func Step(name, text string) (out string, found, known bool) {
	found, known = true, true
	switch name {
	case "extract_answer":
		if out, found = ExtractAnswer(text); found {
			out = tex.StripString(out)
		}
	case "convert_word_number":
		out, found = tex.WordsToNumber(text)
	case "strip_string":
		out = tex.StripString(text)
	case "fix_fracs":
		out = tex.BraceFractions(text)
	case "fix_a_slash_b":
		out = tex.RootFraction(text)
	default:
		return "", false, false
	}
	return out, found, known
}
