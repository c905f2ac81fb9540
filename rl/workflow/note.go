package workflow

import (
	"encoding/json"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// said is a message as notes have it.
type said struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Turn    int      `json:"turn,omitempty"`
	Reward  *float64 `json:"reward,omitempty"`
}

// noteMessages is a conversation as JSON.
func noteMessages(messages []chat.Message) string {
	list := make([]said, len(messages))
	turn := 0
	for i, m := range messages {
		list[i] = said{Role: m.Role, Content: m.Content}
		if m.Role == "assistant" {
			turn++
			list[i].Turn = turn
		}
	}
	return noteOf(list)
}

func noteOf(list []said) string {
	data, err := json.Marshal(list)
	if err != nil {
		return "" // texts and numbers are always JSON
	}
	return string(data)
}

// noteGrade notes what a grader read and gave.
func noteGrade(e *experience.Experience, r *Rollout, t Task, expected string, scores reward.Scores) {
	if e.Note == nil {
		e.Note = &experience.Note{}
	}
	n := e.Note
	n.Truth = t.Truth
	if n.Extracted, n.Graded = reward.Explain(r.RewardName, r.ReplyPrefix+e.ResponseText); n.Graded {
		n.Expected = expected
	}
	for _, s := range scores {
		n.Parts = append(n.Parts, experience.Part{Name: s.Name, Value: s.Value})
	}
}

// unsaid is the part of an observation that the one before it did not tell: some repeat the whole episode.
func unsaid(before, now string) string {
	if rest, ok := strings.CutPrefix(now, before); ok && rest != "" {
		return rest
	}
	return now
}
