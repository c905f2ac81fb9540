package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// The codes of error messages (WSErrorCode). After the last three the server closes the socket.
const (
	invalidAction = "VALIDATION_ERROR"
	raised        = "EXECUTION_ERROR"
	noCapacity    = "CAPACITY_REACHED"
	noFactory     = "FACTORY_ERROR"
	noSession     = "SESSION_ERROR"
)

// message is a message to the server: {"type": …, "data": …}. It refuses data of state and close.
func message(kind string, data any) ([]byte, error) {
	m, err := encode(struct {
		Type string `json:"type"`
		Data any    `json:"data,omitempty"`
	}{kind, data})
	if err != nil {
		return nil, fmt.Errorf("a message that is no JSON: %w", err)
	}
	return m, nil
}

// reply is an answer of the server.
type reply struct {
	kind        string          // observation, state, mcp or error
	observation json.RawMessage // an object
	reward      float64
	rewarded    bool // reward was not null
	done        bool
	fault       *fault // of kind error
}

// fault is an error message of the server. It implements error.
type fault struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Errors  []fieldError    `json:"errors"`
	Active  int             `json:"active_sessions"`
	Max     int             `json:"max_sessions"`
	Factory json.RawMessage `json:"factory_name"`
}

// fieldError is one entry of pydantic's list.
type fieldError struct {
	Type string            `json:"type"`
	Loc  []json.RawMessage `json:"loc"`
	Msg  string            `json:"msg"`
}

func (e fieldError) String() string {
	var where []string
	for _, l := range e.Loc {
		where = append(where, strings.Trim(string(l), `"`))
	}
	return strings.TrimPrefix(strings.Join(where, ".")+": "+e.Msg, ": ")
}

func (f *fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server answers %s: %s", f.Code, cut(f.Message, 2000))
	for i, e := range f.Errors {
		if i == 5 {
			fmt.Fprintf(&b, "; and %d more", len(f.Errors)-i)
			break
		}
		fmt.Fprintf(&b, "; %s", cut(e.String(), 300))
	}
	if f.Code == noFactory {
		fmt.Fprintf(&b, " (factory %s); look at what the server prints", cut(string(f.Factory), 100))
	}
	return b.String()
}

// errGarbage is wrapped by the errors of messages that are not OpenEnv's.
var errGarbage = errors.New("it is not a message of OpenEnv")

// garbage quotes a message.
func garbage(raw []byte, why string) error {
	return fmt.Errorf("%w: %s: %s", errGarbage, why, quoted(raw))
}

// quoted is the beginning of a message.
func quoted(raw []byte) string { return fmt.Sprintf("%q", cut(string(raw), 200)) }

// cut shortens a text to about n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// decode reads a message of the server.
func decode(raw []byte) (r reply, err error) {
	var m struct {
		Type *string         `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return r, garbage(raw, err.Error())
	}
	if m.Type == nil || !isObject(m.Data) {
		return r, garbage(raw, "it needs type and data, an object")
	}
	r.kind = *m.Type
	switch r.kind {
	case "observation":
		return r, r.observed(raw, m.Data)
	case "error":
		r.fault = &fault{}
		if err := json.Unmarshal(m.Data, r.fault); err != nil {
			return r, garbage(raw, err.Error())
		}
		return r, nil
	case "state", "mcp":
		r.observation = m.Data
		return r, nil
	}
	return r, garbage(raw, "its type is unknown")
}

// observed reads the data of an observation.
func (r *reply) observed(raw, data json.RawMessage) error {
	var o struct {
		Observation json.RawMessage `json:"observation"`
		Reward      json.RawMessage `json:"reward"`
		Done        *bool           `json:"done"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return garbage(raw, err.Error())
	}
	if !isObject(o.Observation) {
		return garbage(raw, "observation is not an object")
	}
	if o.Done == nil {
		return garbage(raw, "done is neither true nor false")
	}
	r.observation, r.done = o.Observation, *o.Done
	var err error
	if r.reward, r.rewarded, err = rewardOf(o.Reward); err != nil {
		return garbage(raw, err.Error())
	}
	return nil
}

// rewardOf reads a reward: a boolean, a number, or null for none.
func rewardOf(raw json.RawMessage) (value float64, given bool, err error) {
	switch text := string(raw); text {
	case "", "null":
		return 0, false, nil
	case "true":
		return 1, true, nil
	case "false":
		return 0, true, nil
	}
	if json.Unmarshal(raw, &value) != nil || !experience.Finite(value) {
		return 0, false, fmt.Errorf("the reward %s is not a finite number", cut(string(raw), 50))
	}
	return value, true, nil
}

func isObject(raw json.RawMessage) bool {
	return len(raw) > 0 && raw[0] == '{'
}
