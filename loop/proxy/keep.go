package proxy

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// keeper records the answers to one request, each as an experience of its own. It implements endpoint.Keeper.
type keeper struct {
	server  *Server
	version int                   // of the weights
	given   tinker.SamplingParams // defaults of the request

	continues bool // the prompt begins with a sequence that was recorded
	anew      bool // it has answers and continues none: a new sequence
}

// Prompt implements endpoint.Keeper: a prompt that continues a recorded sequence begins with its ids.
func (k *keeper) Prompt(text string, encode func(string) ([]int32, error)) (tokens []int32, err error) {
	known := k.server.recall.find(text)
	tokens, k.continues, err = known.Next(text, encode)
	return tokens, err
}

// Params implements endpoint.Keeper. The temperature is the run's, as training needs it; the run's other values are
// defaults. An answer ends with the context.
func (k *keeper) Params(a *endpoint.Asked) (overrode []string, err error) {
	if len(a.Prompts) != 1 {
		return nil, bad("there are %d prompts; each must be a request of its own, so that its answer has an id of its "+
			"own", len(a.Prompts))
	}
	if err := a.OwnDistribution(); err != nil {
		return nil, err
	}
	k.anew = !k.continues && answered(a.Messages)
	p := a.Params
	if a.Gives("temperature") && p.Temperature != k.given.Temperature {
		overrode = append(overrode, "temperature")
	}
	p.Temperature = k.given.Temperature
	if !a.Gives("top_p") {
		p.TopP = k.given.TopP
	}
	if !a.Gives("top_k") {
		p.TopK = k.given.TopK
	}
	if !a.Gives("seed") {
		seed, err := seedOf(a.ID)
		if err != nil {
			return nil, err
		}
		p.Seed = &seed
	}
	if !a.Gives(lengths...) {
		p.MaxTokens = k.given.MaxTokens
	}
	end(a, k.given)
	return overrode, nil
}

// lengths are the names that the interfaces have for the most tokens of an answer.
var lengths = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// end sets where an answer ends: where the run's answers do, unless the request names tokens, and with the context.
func end(a *endpoint.Asked, given tinker.SamplingParams) {
	p := a.Params
	p.StopStrings = append(slices.Clone(given.StopStrings), p.StopStrings...)
	if !p.NoStop && !a.Gives("stop_token_ids") {
		p.StopTokens = given.StopTokens
	}
	if room := a.Context - len(a.Prompts[0]); room > 0 && (p.MaxTokens == 0 || p.MaxTokens > room) {
		p.MaxTokens = room
	}
}

// answered reports whether a conversation has an answer that is complete.
func answered(messages []chat.Message) bool {
	return len(messages) > 0 && slices.ContainsFunc(messages[:len(messages)-1],
		func(m chat.Message) bool { return m.Role == "assistant" })
}

// seedOf is the seed of an answer whose request has none, made of its id.
func seedOf(id string) (uint64, error) {
	raw, err := hex.DecodeString(id[max(0, len(id)-16):])
	if err != nil || len(raw) < 8 {
		return 0, bad("the answer's id %q is not made of hexadecimal digits", id)
	}
	return binary.LittleEndian.Uint64(raw), nil
}

// Record implements endpoint.Keeper.
func (k *keeper) Record(ctx context.Context, kept endpoint.Kept) error {
	var list []*experience.Experience
	for i, q := range kept.Sequences {
		id := experience.EID{Task: kept.ID, Run: i, Suffix: kept.ID[len(kept.ID)-6:]}
		e := k.server.experience(id, kept, q)
		e.Info.ModelVersion = k.version
		if k.anew {
			e.Metrics = map[string]float64{workflow.NewSequences: 1}
		}
		list = append(list, e)
	}
	if err := k.server.History.Record(context.WithoutCancel(ctx), kept.ID, list); err != nil {
		return err
	}
	for _, e := range list {
		k.server.recall.add(sequenceOf(e))
	}
	return nil
}

// experience makes an answer one. The tokens that complete a stop string are part of it, and clients do not see them.
func (s *Server) experience(id experience.EID, kept endpoint.Kept, q tinker.SampledSequence) *experience.Experience {
	turn := experience.Turn{Prompt: kept.Prompt, Response: q.Tokens, Logprobs: q.Logprobs,
		Text: s.Text.Tokenizer.Decode(q.Tokens, true), Stop: experience.StopReason(q.StopReason)}
	e := turn.Experience(id)
	e.PromptText, e.MessagesJSON = kept.Text, string(kept.Messages)
	if q.StopReason == tinker.StopLength {
		e.TruncateStatus = experience.ResponseTruncated
	}
	return e
}

// sequenceOf is an answer that a later request may continue.
func sequenceOf(e *experience.Experience) *chat.Sequence {
	return &chat.Sequence{Tokens: e.Tokens, Text: e.PromptText + e.ResponseText,
		Ended: e.StopReason == experience.StopStop}
}
