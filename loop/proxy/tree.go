package proxy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// call is one call of the model in a rollout: a prompt and the answer to it.
type call struct {
	id       string // of the answer
	session  string // the header of the request
	parent   *call  // whose tokens the prompt begins with; nil: the call begins a sequence
	prompt   []int32
	sampled  []int32
	logprobs []float32 // of sampled
	text     string    // of the prompt
	heard    string    // the answer as text
	stop     tinker.StopReason
	version  int // of the weights

	messages, message json.RawMessage // of the request, nil for a completion, and of the answer
	begun             time.Time
	took              time.Duration
}

// sequence is the call as a later call may continue it.
func (c *call) sequence() *chat.Sequence {
	return &chat.Sequence{Tokens: slices.Concat(c.prompt, c.sampled), Text: c.text + c.heard,
		Ended: c.stop == tinker.StopStop}
}

// tokens is the length of prompt and answer.
func (c *call) tokens() int { return len(c.prompt) + len(c.sampled) }

// continued reports whether ids begin with the tokens of the call.
func (c *call) continued(ids []int32) bool {
	p := len(c.prompt)
	return len(ids) >= p+len(c.sampled) && slices.Equal(ids[:p], c.prompt) &&
		slices.Equal(ids[p:p+len(c.sampled)], c.sampled)
}

// tree is the calls of a rollout in the order of their answers. Each continues the tokens of one before it or begins
// a sequence.
type tree struct{ calls []*call }

// next returns the ids of a prompt, and the call that it continues: of those whose text it begins with, the one with
// the longest, and the first of several. A nil call means that a sequence begins.
func (t *tree) next(text string, encode func(string) ([]int32, error)) (ids []int32, parent *call, err error) {
	for _, c := range t.calls {
		if n := len(c.text) + len(c.heard); len(text) < n || parent != nil && n <= len(parent.text)+len(parent.heard) {
			continue
		}
		if rest, ok := strings.CutPrefix(text, c.text); ok && strings.HasPrefix(rest, c.heard) {
			parent = c
		}
	}
	if parent == nil {
		ids, err = encode(text)
		return ids, nil, err
	}
	ids, continues, err := parent.sequence().Next(text, encode)
	if !continues {
		parent = nil
	}
	return ids, parent, err
}

// extended is the call that a prompt of ids continues: the one with the most tokens.
func (t *tree) extended(ids []int32) (parent *call) {
	for _, c := range t.calls {
		if c.continued(ids) && (parent == nil || c.tokens() > parent.tokens()) {
			parent = c
		}
	}
	return parent
}

// add takes up a call.
func (t *tree) add(c *call) { t.calls = append(t.calls, c) }

// of is the part of the tree that one session asked. Its calls may continue other sessions' calls.
func (t *tree) of(session string) *tree {
	own := &tree{}
	for _, c := range t.calls {
		if c.session == session {
			own.add(c)
		}
	}
	return own
}

// leaves are the calls that no other of the tree continues.
func (t *tree) leaves() (list []*call) {
	continued := map[*call]bool{}
	for _, c := range t.calls {
		for up := c.parent; up != nil && !continued[up]; up = up.parent {
			continued[up] = true
		}
	}
	for _, c := range t.calls {
		if !continued[c] {
			list = append(list, c)
		}
	}
	return list
}

// path is the calls from the beginning of a sequence to c.
func (c *call) path() (list []*call) {
	for ; c != nil; c = c.parent {
		list = append(list, c)
	}
	slices.Reverse(list)
	return list
}

// experience is the whole rollout, without a name and a reward: one sequence for each leaf, with the tokens from the
// beginning to the leaf, one sequence after another (experience.Experience.Starts). What was sampled is trained, and
// everything once: a call that several leaves share is trained in the first of them and masked in the others, and calls
// of other trees are masked. So a rollout has one reward and one advantage, however many branches it has. There is at
// least one call.
func (t *tree) experience() *experience.Experience {
	last, first := t.calls[len(t.calls)-1], t.calls[0]
	e := &experience.Experience{PromptText: first.text, StopReason: experience.StopReason(last.stop),
		MessagesJSON: string(last.messages)}
	leaves, trained := t.leaves(), map[*call]bool{}
	own := map[*call]bool{}
	for _, c := range t.calls {
		own[c] = true
	}
	for i, leaf := range leaves {
		if i > 0 {
			e.Starts = append(e.Starts, len(e.Tokens))
		}
		e.Tokens = slices.Concat(e.Tokens, leaf.prompt, leaf.sampled)
		logprobs, mask := make([]float32, leaf.tokens()), make([]bool, leaf.tokens())
		path := leaf.path()
		for _, c := range path {
			if trained[c] || !own[c] {
				continue
			}
			trained[c] = true
			copy(logprobs[len(c.prompt):], c.logprobs)
			for j := range c.sampled {
				mask[len(c.prompt)+j] = true
			}
		}
		if i == 0 {
			e.PromptLength = len(path[0].prompt)
			logprobs, mask = logprobs[e.PromptLength:], mask[e.PromptLength:]
		}
		e.Logprobs, e.ActionMask = append(e.Logprobs, logprobs...), append(e.ActionMask, mask...)
	}
	var answers []string
	oldest, newest := first.version, first.version
	for _, c := range t.calls {
		answers = append(answers, c.heard)
		oldest, newest = min(oldest, c.version), max(newest, c.version)
	}
	e.Info.ModelVersion = oldest
	e.ResponseText = strings.Join(answers, "\n")
	if last.stop == tinker.StopLength {
		e.TruncateStatus = experience.ResponseTruncated
	}
	e.Metrics = map[string]float64{"num_turns": float64(len(t.calls))}
	if newest > oldest {
		e.Metrics[experience.VersionDrift] = float64(newest - oldest)
	}
	if n := len(leaves); n > 1 {
		e.Metrics[workflow.NewSequences] = float64(n - 1)
	}
	return e
}
