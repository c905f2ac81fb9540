package gem

import (
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// write writes the scored turns of a step to rollouts/.
func (t *Trainer) write(step int, episodes []Turns) error {
	var all []*experience.Experience
	for _, e := range episodes {
		for _, x := range e {
			x.PromptText = t.Tokens.Decode(x.Tokens[:x.PromptLength], false)
			x.ResponseText = t.Tokens.Decode(x.Response(), true)
			if x.Note == nil {
				x.Note = &experience.Note{}
			}
			x.Note.Turns = len(e)
			all = append(all, x)
		}
	}
	return t.rollouts().Write(step, all)
}

// rollouts are the run's records of samples.
func (t *Trainer) rollouts() buffer.Rollouts {
	return buffer.Rollouts{FS: t.FS, Dir: filepath.Join(t.Dir, "rollouts"), Tokenizer: t.Tokens}
}
