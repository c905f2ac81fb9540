package plugin

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// packed is numbers as base64 of their little-endian bytes, so that float32 keep their bits; nil is null.
type packed[T int32 | float32 | bool] []T

type (
	int32s   = packed[int32]
	float32s = packed[float32]
	bools    = packed[bool]
)

// MarshalJSON implements json.Marshaler.
func (v packed[T]) MarshalJSON() ([]byte, error) {
	b, err := binary.Append([]byte{}, binary.LittleEndian, []T(v))
	if err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *packed[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var b []byte
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	size := binary.Size(make([]T, 1))
	if len(b)%size != 0 {
		return fmt.Errorf("plugin: %d bytes are no numbers of %d", len(b), size)
	}
	*v = make(packed[T], len(b)/size)
	_, err := binary.Decode(b, binary.LittleEndian, []T(*v))
	return err
}

// answer is an experience on its way to Python.
type answer struct {
	Ref      int             `json:"ref"`
	Tokens   int32s          `json:"tokens"`
	Logprobs float32s        `json:"logprobs"`
	Mask     bools           `json:"mask,omitempty"`
	Prompt   int             `json:"prompt_length"`
	Text     string          `json:"prompt_text"`
	Heard    string          `json:"response_text"`
	Truncate string          `json:"truncate_status,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`

	// for operators only
	EID     map[string]any          `json:"eid,omitempty"`
	Reward  *python.Float           `json:"reward,omitempty"`
	Metrics map[string]python.Float `json:"metrics,omitempty"`
	Info    map[string]any          `json:"info,omitempty"`
}

// returned is an experience on its way back.
type returned struct {
	Ref      *int                    `json:"ref"`
	Tokens   int32s                  `json:"tokens"`   // nil: Ref's
	Logprobs float32s                `json:"logprobs"` // nil: Ref's
	Mask     bools                   `json:"mask"`
	Prompt   int                     `json:"prompt_length"`
	Run      int                     `json:"run"`
	Step     int                     `json:"step"`
	Task     string                  `json:"task"`
	Reward   *python.Float           `json:"reward"`
	Rewards  float32s                `json:"token_rewards"`
	Metrics  map[string]python.Float `json:"metrics"`
	Text     *string                 `json:"prompt_text"`
	Heard    *string                 `json:"response_text"`
	Truncate *string                 `json:"truncate_status"`
	Messages json.RawMessage         `json:"messages"`
}
