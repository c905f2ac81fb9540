package plugin

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// Numbers travel as base64 of their little-endian bytes, so that float32 stay the same bits.

// int32s, float32s and bools are such numbers; nil is null.
type (
	int32s   []int32
	float32s []float32
	bools    []bool
)

// MarshalJSON implements json.Marshaler.
func (v int32s) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return quoted(b)
}

// MarshalJSON implements json.Marshaler.
func (v float32s) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return quoted(b)
}

// MarshalJSON implements json.Marshaler.
func (v bools) MarshalJSON() ([]byte, error) {
	b := make([]byte, len(v))
	for i, on := range v {
		if on {
			b[i] = 1
		}
	}
	return quoted(b)
}

func quoted(b []byte) ([]byte, error) {
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b))+2)
	out = append(out, '"')
	out = base64.StdEncoding.AppendEncode(out, b)
	return append(out, '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *int32s) UnmarshalJSON(data []byte) error {
	b, err := unquoted(data, 4)
	if err != nil || b == nil {
		return err
	}
	*v = make(int32s, len(b)/4)
	for i := range *v {
		(*v)[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *float32s) UnmarshalJSON(data []byte) error {
	b, err := unquoted(data, 4)
	if err != nil || b == nil {
		return err
	}
	*v = make(float32s, len(b)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *bools) UnmarshalJSON(data []byte) error {
	b, err := unquoted(data, 1)
	if err != nil || b == nil {
		return err
	}
	*v = make(bools, len(b))
	for i, x := range b {
		(*v)[i] = x != 0
	}
	return nil
}

// unquoted is nil for null.
func unquoted(data []byte, size int) ([]byte, error) {
	if string(data) == "null" {
		return nil, nil
	}
	var b []byte
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, err
	}
	if len(b)%size != 0 {
		return nil, fmt.Errorf("plugin: %d bytes are no numbers of %d", len(b), size)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
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

	// what operators get besides
	EID     map[string]any          `json:"eid,omitempty"`
	Reward  *python.Float           `json:"reward,omitempty"`
	Metrics map[string]python.Float `json:"metrics,omitempty"`
	Info    map[string]any          `json:"info,omitempty"`
}

// returned is an experience on its way back.
type returned struct {
	Ref      *int                    `json:"ref"`
	Tokens   int32s                  `json:"tokens"`   // nil: those of Ref
	Logprobs float32s                `json:"logprobs"` // nil: those of Ref
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
