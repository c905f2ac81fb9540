// Package experience holds the words that the loops share: an Experience is one prompt with the response sampled to it
// and everything training needs to know about it; a Turn is one exchange of an episode; a Group is the experiences
// sampled for one task; a StopReason says why sampling ended. The package knows no model, no file and no algorithm.
//
// Names of fields and the JSON form follow Trinity-RFT's Experience, so that a buffer written by either is readable by
// both.
package experience

import (
	"fmt"
	"slices"
)

// StopReason says why a response ended.
type StopReason string

// The reasons a response can end. StopError marks an experience whose rollout failed; it is kept as data and never
// trained on.
const (
	StopStop            StopReason = "stop"             // an end-of-turn token or a stop string was sampled
	StopLength          StopReason = "length"           // max_response_tokens or the context was used up
	StopPromptTruncated StopReason = "prompt_truncated" // the prompt was too long: nothing was sampled
	StopError           StopReason = "error"            // the sampler, the environment or the grader failed
)

// TruncateStatus says whether, and where, an experience was cut. The empty string means that it was not.
type TruncateStatus string

// Trinity-RFT's two values of truncate_status.
const (
	PromptTruncated   TruncateStatus = "prompt_truncated"
	ResponseTruncated TruncateStatus = "response_truncated"
)

// Info is the part of an experience that the system itself reads.
type Info struct {
	ModelVersion int   // the weights version that sampled it; 0 is the weights a run starts from
	TaskIndex    int   // row of the task in its taskset
	TasksetID    int   // which taskset, 0 when there is one
	UseCount     int   // how often a replay buffer has handed it out
	IsExpert     bool  // it comes from an expert data set, not from the model
	Seed         int64 // the sampling seed of its response

	Baseline *float64 // the reward of a greedy response to the same task by the same weights, nil when none was sampled
}

// Experience is one training example: a prompt of P tokens followed by a response of R tokens, R >= 0.
//
// An episode of several turns becomes several sequences (Starts) when the chat template later shows the model earlier
// turns differently. The sequences are one after another in Tokens, so that an episode is one experience with one
// reward and one advantage, counted once. Only code that asks a model about the tokens separates them (Spans).
//
// The last holder of an Experience owns it; the loops hand it on and do not touch it afterwards. Its slices are
// never shared between two experiences.
type Experience struct {
	EID EID

	Tokens       []int32   // prompt then response, [P+R]
	PromptLength int       // P
	Starts       []int     // where in Tokens further sequences begin, rising, after the prompt; nil for one
	Logprobs     []float32 // log-probability of each response token when it was sampled, temperature 1, [R]
	ActionMask   []bool    // which response tokens are trained, [R]; false on tokens the model did not choose

	Reward       *float64  // nil until graded
	TokenRewards []float32 // a reward per response token, [R], or nil when there is only Reward
	Advantages   []float32 // [R], nil until the group is scored
	Returns      []float32 // [R], nil until the group is scored

	PromptText   string
	ResponseText string
	MessagesJSON string // the chat messages after the tokens as a JSON array, or empty

	Note           *Note              // for readers; nil: nothing to note
	Metrics        map[string]float64 // what the workflow measured, for example accuracy
	Info           Info
	TruncateStatus TruncateStatus
	StopReason     StopReason
}

// InfoPrefix begins the names, among Metrics, of numbers that a plug-in file put into an experience's info. Operators
// and advantages read them; the run does not report them.
const InfoPrefix = "info/"

// VersionDrift is, among Metrics, how many versions the newest weights that sampled an experience are ahead of its
// ModelVersion. It is there only where weights changed between two of its answers.
const VersionDrift = InfoPrefix + "model_version_drift"

// Measured is the number of a name, of the info if it has one, else of the metrics.
func (e *Experience) Measured(name string) (v float64, ok bool) {
	if v, ok = e.Metrics[InfoPrefix+name]; !ok {
		v, ok = e.Metrics[name]
	}
	return v, ok
}

// ResponseLength is R, the number of tokens after the prompt.
func (e *Experience) ResponseLength() int { return len(e.Tokens) - e.PromptLength }

// Response is the token ids of the response, [R]. It shares memory with Tokens.
func (e *Experience) Response() []int32 { return e.Tokens[e.PromptLength:] }

// RewardOr returns the reward, or missing when the experience has not been graded.
func (e *Experience) RewardOr(missing float64) float64 {
	if e.Reward == nil {
		return missing
	}
	return *e.Reward
}

// SetReward grades the experience.
func (e *Experience) SetReward(r float64) { e.Reward = &r }

// TrainableTokens is the number of response tokens that the action mask keeps.
func (e *Experience) TrainableTokens() int {
	n := 0
	for _, keep := range e.ActionMask {
		if keep {
			n++
		}
	}
	return n
}

// Clone returns a deep copy with the same id.
func (e *Experience) Clone() *Experience {
	c := *e
	c.Tokens = slices.Clone(e.Tokens)
	c.Starts = slices.Clone(e.Starts)
	c.Logprobs = slices.Clone(e.Logprobs)
	c.ActionMask = slices.Clone(e.ActionMask)
	c.TokenRewards = slices.Clone(e.TokenRewards)
	c.Advantages = slices.Clone(e.Advantages)
	c.Returns = slices.Clone(e.Returns)
	c.Note = e.Note.clone()
	if e.Reward != nil {
		c.SetReward(*e.Reward)
	}
	if b := e.Info.Baseline; b != nil {
		v := *b
		c.Info.Baseline = &v
	}
	if e.Metrics != nil {
		c.Metrics = make(map[string]float64, len(e.Metrics))
		for k, v := range e.Metrics {
			c.Metrics[k] = v
		}
	}
	return &c
}

// Spans are the sequences of the experience, each by its first place in Tokens and the place after its last. A
// model reads each of them without the others.
func (e *Experience) Spans() [][2]int {
	spans := make([][2]int, 0, len(e.Starts)+1)
	from := 0
	for _, at := range e.Starts {
		spans = append(spans, [2]int{from, at})
		from = at
	}
	return append(spans, [2]int{from, len(e.Tokens)})
}

// Validate checks that the lengths agree: 0 <= P <= len(Tokens), an action mask for every response token, every
// other per-token slice either absent or as long as the response, and that every sequence has a token to begin
// with and another after it.
func (e *Experience) Validate() error {
	if e.PromptLength < 0 || e.PromptLength > len(e.Tokens) {
		return fmt.Errorf("experience: %s has prompt length %d with %d tokens; it must lie between 0 and the number "+
			"of tokens", e.EID, e.PromptLength, len(e.Tokens))
	}
	r := e.ResponseLength()
	if len(e.ActionMask) != r {
		return fmt.Errorf("experience: %s has %d entries in its action mask for %d response tokens; they must agree",
			e.EID, len(e.ActionMask), r)
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"logprobs", len(e.Logprobs)},
		{"token rewards", len(e.TokenRewards)},
		{"advantages", len(e.Advantages)},
		{"returns", len(e.Returns)},
	} {
		if f.n != 0 && f.n != r {
			return fmt.Errorf("experience: %s has %d %s for %d response tokens; they must agree", e.EID, f.n, f.name, r)
		}
	}
	return e.validateStarts()
}

// validateStarts checks the places where sequences begin. A sequence's first token has no probability, so it is
// not trained.
func (e *Experience) validateStarts() error {
	if len(e.Starts) == 0 {
		return nil
	}
	for i, span := range e.Spans() {
		from, to := span[0], span[1]
		if i > 0 && from < e.PromptLength || to-from < 2 {
			return fmt.Errorf("experience: %s has sequences that begin at %v, with %d prompt tokens of %d tokens; "+
				"the further ones must begin after the prompt, and each must have two tokens", e.EID, e.Starts,
				e.PromptLength, len(e.Tokens))
		}
		if i > 0 && e.ActionMask[from-e.PromptLength] {
			return fmt.Errorf("experience: %s trains token %d, which begins a sequence; it has no probability, "+
				"so the mask must leave it out", e.EID, from)
		}
	}
	return nil
}
