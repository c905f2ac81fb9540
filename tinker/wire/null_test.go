package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Null is refused by name where a number is required, and means "none" in optional fields.
func TestNull(t *testing.T) {
	for _, c := range []struct {
		body string
		into any
		want string // "" is accepted
	}{
		{`{"adam_params":{"learning_rate":null}}`, &OptimStepRequest{},
			"adam_params.learning_rate is null; it must be a number"},
		{`{"adam_params":{"learning_rate":0.5,"grad_clip_norm":null}}`, &OptimStepRequest{},
			"adam_params.grad_clip_norm is null"},
		{`{"seq_id":null}`, &OptimStepRequest{}, "seq_id is null"},
		{`{"adam_params":{"learning_rate":0.5},"unknown":{"learning_rate":null},"type":null}`, &OptimStepRequest{}, ""},
		{`{"num_samples":null}`, &SampleRequest{}, "num_samples is null"},
		{`{"sampling_params":{"temperature":null}}`, &SampleRequest{}, "sampling_params.temperature is null"},
		{`{"sampling_params":{"top_p":null}}`, &SampleRequest{}, "sampling_params.top_p is null"},
		{`{"sampling_params":{"max_tokens":null,"seed":null,"stop":null},"prompt_logprobs_last_n":null}`,
			&SampleRequest{}, ""},
		{`{"sampling_params":{"stop":["null"]}}`, &SampleRequest{}, ""},
		{`{"prompt":{"chunks":[{"tokens":[]},{"tokens":[1,2,null]}]}}`, &SampleRequest{},
			"prompt.chunks[1].tokens[2] is null"},
		{`{"prompt":{"chunks":[{"type":"image","data":"null"}]}}`, &SampleRequest{}, ""},
		{`{"lora_config":{"rank":null}}`, &CreateModelRequest{}, "lora_config.rank is null"},
		{`{"lora_config":{"rank":4,"seed":null},"user_metadata":{"lr":null}}`, &CreateModelRequest{}, ""},
		{`{"model_seq_id":null}`, &CreateModelRequest{}, "model_seq_id is null"},
		{`{"sampling_session_seq_id":null}`, &CreateSamplingSessionRequest{}, "sampling_session_seq_id is null"},
		{`{"target_prompt_logprobs":{"data":[1],"shape":[null]}}`, &SampleRequest{},
			"target_prompt_logprobs.shape[0] is null"},
		// NaN; Targets refuses it by name
		{`{"target_prompt_logprobs":{"data":[null]}}`, &SampleRequest{}, ""},
		{`{"ttl_seconds":null}`, &SaveRequest{}, ""},
		{`{"adam_params":{"learning_rate":"0.1"}}`, &OptimStepRequest{}, "adam_params.learning_rate is string"},
	} {
		err := Decode([]byte(c.body), c.into)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			tinker.CategoryOf(err) != tinker.User || errors.Is(err, ErrMalformed)) {
			t.Errorf("%s: %v, want %q", c.body, err, c.want)
		}
	}
	for _, body := range []string{`{"adam_params":{"learning_rate":NaN}}`, `[]`, `7`, `{} {}`, ``} {
		if err := Decode([]byte(body), &OptimStepRequest{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want it to be malformed", body, err)
		}
	}
}
