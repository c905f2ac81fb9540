package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// CreateSamplingSessionRequest is the body of create_sampling_session.
type CreateSamplingSessionRequest struct {
	SessionID            string `json:"session_id"`
	SamplingSessionSeqID int64  `json:"sampling_session_seq_id"`
	BaseModel            string `json:"base_model,omitempty"`
	ModelPath            string `json:"model_path,omitempty"`
	Type                 string `json:"type"` // create_sampling_session
}

// CreateSamplingSessionResponse names the sampling session.
type CreateSamplingSessionResponse struct {
	Type              string `json:"type"` // create_sampling_session
	SamplingSessionID string `json:"sampling_session_id"`
}

// SampleRequest is the body of asample.
type SampleRequest struct {
	SamplingSessionID  string         `json:"sampling_session_id,omitempty"`
	SeqID              int64          `json:"seq_id"`
	BaseModel          string         `json:"base_model,omitempty"`
	ModelPath          string         `json:"model_path,omitempty"`
	NumSamples         int            `json:"num_samples"`
	Prompt             modelInput     `json:"prompt"`
	Params             samplingParams `json:"sampling_params"`
	PromptLogprobs     bool           `json:"prompt_logprobs"`
	TopKPromptLogprobs int            `json:"topk_prompt_logprobs"`
	Type               string         `json:"type"` // sample

	// Of newer SDKs.
	PromptLogprobsLastN  *int        `json:"prompt_logprobs_last_n,omitempty" null:"ok"`
	TopKSampleLogprobs   int         `json:"topk_sample_logprobs,omitempty"`
	TargetPromptLogprobs *JSONTensor `json:"target_prompt_logprobs,omitempty"` // int64 [prompt-1, K], dense or sparse
	PromptAltTokensK     int         `json:"prompt_alt_tokens_k,omitempty"`
	RecordStabilityInfo  bool        `json:"record_stability_info,omitempty"`
}

// samplingParams is sampling_params.
type samplingParams struct {
	MaxTokens   *int     `json:"max_tokens,omitempty" null:"ok"`
	Seed        *seed    `json:"seed,omitempty" null:"ok"`
	Stop        *stop    `json:"stop,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
}

// Tinker converts to package tinker's type and fills in defaults. It refuses a max_tokens of 0, which means "no limit"
// there.
func (p samplingParams) Tinker() (tinker.SamplingParams, error) {
	s := tinker.DefaultSampling()
	if p.MaxTokens != nil {
		if s.MaxTokens = *p.MaxTokens; s.MaxTokens < 1 {
			return s, tinker.Userf("max_tokens is %d; it must be 1 or more", s.MaxTokens)
		}
	}
	if p.Temperature != nil {
		s.Temperature = *p.Temperature
	}
	if p.TopK != nil {
		s.TopK = *p.TopK
	}
	if p.TopP != nil {
		s.TopP = *p.TopP
	}
	if p.Seed != nil {
		seed := uint64(*p.Seed)
		s.Seed = &seed
	}
	if p.Stop != nil {
		s.StopStrings, s.StopTokens = p.Stop.Strings, p.Stop.Tokens
		s.NoStop = len(s.StopStrings)+len(s.StopTokens) == 0
	}
	return s, nil
}

// FromSampling is the inverse of Tinker. The protocol takes stop strings or stop tokens, not both.
func FromSampling(s tinker.SamplingParams) (samplingParams, error) {
	p := samplingParams{Temperature: &s.Temperature, TopK: &s.TopK, TopP: &s.TopP}
	if s.MaxTokens > 0 {
		p.MaxTokens = &s.MaxTokens
	}
	if s.Seed != nil {
		seed := seed(*s.Seed)
		p.Seed = &seed
	}
	if s.Guide != nil {
		return p, tinker.Userf("wire: the answer must have a form, or its tokens a bias or penalties, which the " +
			"Tinker protocol does not have: leave response_format, logit_bias and penalties out, or sample on " +
			"trinity serve")
	}
	if s.MinP != 0 {
		return p, tinker.Userf("wire: min_p is %v; the Tinker protocol has no min_p: use top_p or top_k", s.MinP)
	}
	if s.NoStop && len(s.StopStrings)+len(s.StopTokens) > 0 {
		return p, tinker.Userf("wire: no_stop excludes stop strings %q and stop tokens %v; leave one out",
			s.StopStrings, s.StopTokens)
	}
	if len(s.StopStrings) > 0 && len(s.StopTokens) > 0 {
		return p, tinker.Userf("wire: a request may have stop strings or stop tokens, not both: %q, %v",
			s.StopStrings, s.StopTokens)
	}
	if s.NoStop || len(s.StopStrings) > 0 || len(s.StopTokens) > 0 {
		p.Stop = &stop{Strings: s.StopStrings, Tokens: s.StopTokens}
	}
	return p, nil
}

// seed is any 64-bit number, signed or not.
type seed uint64

// UnmarshalJSON takes signed and unsigned numbers.
func (s *seed) UnmarshalJSON(b []byte) error {
	if u, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		*s = seed(u)
		return nil
	}
	i, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("seed %s is not a 64-bit number", b)
	}
	*s = seed(uint64(i))
	return nil
}

// stop is a string, a list of strings, or a list of token ids. An empty list also disables the model's own end tokens;
// without a Stop they are used.
type stop struct {
	Strings []string
	Tokens  []int32
}

// maxStops limits the entries of a stop list, since each token is compared with all of them.
const maxStops = 4096

// UnmarshalJSON takes the three forms, and a list that mixes them.
func (s *stop) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		s.Strings = []string{one}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("stop must be a string, a list of strings or a list of token ids")
	}
	if len(list) > maxStops {
		return fmt.Errorf("stop has %d entries; the limit is %d (MaxStops)", len(list), maxStops)
	}
	for _, raw := range list {
		var token int32
		var text string
		switch {
		case json.Unmarshal(raw, &text) == nil:
			s.Strings = append(s.Strings, text)
		case json.Unmarshal(raw, &token) == nil:
			s.Tokens = append(s.Tokens, token)
		default:
			return fmt.Errorf("stop has %s, which is neither a string nor a token id", raw)
		}
	}
	return nil
}

// MarshalJSON writes a list.
func (s stop) MarshalJSON() ([]byte, error) {
	if len(s.Strings) > 0 {
		return json.Marshal(s.Strings)
	}
	return json.Marshal(append([]int32{}, s.Tokens...)) // an empty list, not null
}
