package openenv

import (
	"encoding/json"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"strconv"
)

// SampleAction implements env.Env: one of the template's answers, a value that the schema allows, or a call of a tool.
func (e *Env) SampleAction(r env.Draws) string {
	if !e.playing {
		return ""
	}
	k := e.kind
	switch list := k.args.template.random; {
	case list != nil:
		return list[r.IntN(len(list))]
	case k.tools:
		return k.sampleCall(r)
	}
	field := k.args.template.fill
	if field == "" {
		field = k.schema.only()
	}
	one := k.schema.Properties[field]
	if one != nil && one.is("integer") && len(e.legal) > 0 {
		return strconv.Itoa(e.legal[r.IntN(len(e.legal))])
	}
	var v any = k.schema.object(r, k.schema.Defs, 0)
	if k.args.template.fill != "" {
		v = one.sample(r, k.schema.Defs, 0)
	}
	if text, is := v.(string); is {
		return text
	}
	data, err := encode(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// legalOf are the numbers that an observation calls legal, as the environments of games do.
func legalOf(observation json.RawMessage) []int {
	var o struct {
		Actions []int `json:"legal_actions"`
		Moves   []int `json:"legal_moves"`
	}
	if json.Unmarshal(observation, &o) != nil {
		return nil
	}
	return append(o.Actions, o.Moves...)
}
