package supervised

import (
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// text makes an experience of a row of text for continued pre-training (cpt of Trinity-RFT 0.6.0): the tokens are the
// tokenizer's, with its own special ones and none added at the end, and every token after the first is trained.
func (s *Examples) text(it dataset.Item) ([]*experience.Experience, error) {
	task, err := s.Format.Task(s.Rows, it)
	if err != nil {
		return nil, err
	}
	id := experience.EID{Batch: strconv.Itoa(it.Epoch), Task: strconv.Itoa(it.Index)}
	tokens := s.Tokenizer.Encode(task.Prompt, true)
	tokens = tokens[:s.most(len(tokens))]
	turn := experience.Turn{Stop: experience.StopPromptTruncated}
	if len(tokens) > 1 {
		turn = experience.Turn{Prompt: tokens[:1:1], Response: tokens[1:]}
	} else { // it trains nothing and is counted; a token stands in for what is missing
		s.Warn(fmt.Sprintf("%s: a text of %d tokens trains nothing; drop it", s.Rows.Place(it.Index), len(tokens)))
		turn.Prompt = append(tokens, 0)[:1]
		turn.Response = turn.Prompt
	}
	e := turn.Experience(id)
	e.Logprobs = nil // nobody sampled it
	e.Info.TaskIndex = it.Index
	return []*experience.Experience{e}, nil
}
