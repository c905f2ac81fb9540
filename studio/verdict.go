package studio

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// grade explains why a sample has its reward.
type grade struct {
	Extracted string             `json:"extracted"`
	Expected  string             `json:"expected"`
	Verdict   string             `json:"verdict"` // right, wrong, partial or unknown
	Reason    string             `json:"reason"`  // in a sentence; "" if it is not known
	Parts     map[string]float64 `json:"parts"`
}

// gradeOf tells a record's verdict; nil if the run noted none.
func gradeOf(rec *rollout.Record, parts map[string]float64) *grade {
	if rec.Grade == nil && len(rec.Parts) == 0 {
		return nil
	}
	g := &grade{Verdict: "unknown", Parts: parts}
	if rec.Grade != nil {
		g.Extracted, g.Expected = rec.Grade.Extracted, rec.Grade.Expected
	}
	score, graded := parts["accuracy"]
	if !graded {
		score, graded = parts["score"]
	}
	switch {
	case !graded:
	case score >= 1:
		g.Verdict = "right"
	case score > 0:
		g.Verdict = "partial"
	default:
		g.Verdict = "wrong"
	}
	g.Reason = g.reason(rec)
	return g
}

func (g *grade) reason(rec *rollout.Record) string {
	compared := g.Expected != ""
	switch {
	case rec.StopReason == "prompt_truncated" || rec.Truncated == "prompt_truncated":
		return "the prompt is too long, so nothing was sampled"
	case compared && g.Verdict == "right":
		return fmt.Sprintf("the answer %s agrees with %s", quoted(g.Extracted), quoted(g.Expected))
	case compared && g.Extracted == "" && rec.StopReason == "length":
		return fmt.Sprintf("the response was cut after %d tokens, before an answer", len(rec.Tokens))
	case compared && g.Extracted == "":
		return "no answer was found in the response"
	case compared && g.Verdict == "wrong":
		return fmt.Sprintf("the answer %s is not %s", quoted(g.Extracted), quoted(g.Expected))
	}
	return ""
}

// quoted is a text short enough for a sentence.
func quoted(text string) string {
	const most = 80
	if short := clip(text, most); short != text {
		return short + "…"
	}
	return text
}
