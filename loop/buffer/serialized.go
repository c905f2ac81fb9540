package buffer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/trxp"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// ownField is what an experience in a database has beside Trinity-RFT's fields, which ignores it: experience.Append of
// what these do not tell to the last bit.
const ownField = "trinity"

// serialize writes an experience for a database: readable by Trinity-RFT, and exact for deserialize.
func serialize(e *experience.Experience) []byte {
	own, tensors := *e, map[string]trxp.Tensor{}
	own.Tokens, own.PromptLength, own.Starts = nil, 0, nil
	for _, f := range floatFields(&own) {
		if *f.list != nil {
			tensors[f.name] = trxp.Floats(*f.list)
		}
		*f.list = nil
	}
	if e.Tokens != nil {
		tensors["tokens"] = trxp.Int32s(e.Tokens)
	}
	if own.ActionMask = nil; e.ActionMask != nil {
		tensors["action_mask"] = trxp.Bools(e.ActionMask)
	}
	for _, text := range []*string{&own.PromptText, &own.ResponseText} {
		if utf8.ValidString(*text) {
			*text = ""
		}
	}
	fields := upstreamFields(e)
	fields[ownField] = experience.Append(nil, &own)
	fields["starts"] = anys(e.Starts)
	return trxp.Encode(trxp.Item{Fields: fields, Tensors: tensors})
}

// floatField is a tensor of an experience by upstream's name.
type floatField struct {
	name string
	list *[]float32
}

func floatFields(e *experience.Experience) []floatField {
	return []floatField{{"logprobs", &e.Logprobs}, {"token_level_reward", &e.TokenRewards},
		{"advantages", &e.Advantages}, {"returns", &e.Returns}}
}

// upstreamFields are the fields of an experience that are no tensors (_META_FIELDS).
func upstreamFields(e *experience.Experience) map[string]any {
	fields := map[string]any{
		"eid": map[string]any{"batch": e.EID.Batch, "task": e.EID.Task, "run": e.EID.Run, "step": e.EID.Step,
			"suffix": e.EID.Suffix},
		"reward": nil, "truncate_status": nil, "prompt_length": e.PromptLength,
		"prompt_text": e.PromptText, "response_text": e.ResponseText,
		"messages": nil, "tools": nil, "chosen_messages": nil, "rejected_messages": nil,
		"custom_fields": []any{}, "multi_modal_input_keys": []any{},
		"info": map[string]any{"model_version": e.Info.ModelVersion, "use_count": e.Info.UseCount,
			"model_version_drift": int(e.Metrics[experience.VersionDrift]),
			"task_index":          map[string]any{"index": e.Info.TaskIndex, "taskset_id": e.Info.TasksetID}},
	}
	if e.Reward != nil {
		fields["reward"] = *e.Reward
	}
	if e.TruncateStatus != "" {
		fields["truncate_status"] = string(e.TruncateStatus)
	}
	if v, ok := plainJSON(e.MessagesJSON); ok {
		fields["messages"] = v
	}
	metrics := map[string]any{}
	for name, v := range e.Metrics {
		metrics[name] = v
	}
	fields["metrics"] = metrics
	return fields
}

// plainJSON is a JSON text as lists and dictionaries.
func plainJSON(text string) (v any, ok bool) {
	if text == "" {
		return nil, false
	}
	err := json.Unmarshal([]byte(text), &v)
	return v, err == nil
}

func anys(list []int) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// row is what a table's columns tell of an experience, beside its bytes.
type row struct {
	task, suffix string
	run, version int
	reward       *float64
}

// deserialize reads an experience of a database: what serialize wrote, what this program wrote before, or what
// Trinity-RFT wrote, whose columns then count (ExperienceModel.to_experience).
func deserialize(data []byte, r row) (*experience.Experience, error) {
	if !trxp.Is(data) {
		return exactly(data)
	}
	items, err := trxp.Decode(data)
	if err != nil {
		return nil, err
	}
	if len(items) != 1 {
		return nil, fmt.Errorf("it holds %d experiences, and a row has one", len(items))
	}
	own, ok := items[0].Fields[ownField].([]byte)
	if !ok {
		return foreign(items[0], r)
	}
	e, err := exactly(own)
	if err != nil {
		return nil, err
	}
	fields := items[0].Fields
	e.PromptLength = integer(fields["prompt_length"])
	if list, _ := fields["starts"].([]any); len(list) > 0 {
		for _, v := range list {
			e.Starts = append(e.Starts, integer(v))
		}
	}
	e.PromptText = cmp.Or(e.PromptText, text(fields["prompt_text"]))
	e.ResponseText = cmp.Or(e.ResponseText, text(fields["response_text"]))
	fill(e, items[0].Tensors)
	return e, nil
}

// exactly reads the whole of what experience.Append wrote.
func exactly(data []byte) (*experience.Experience, error) {
	e, rest, err := experience.Decode(data)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	return e, err
}

// fill sets the tensors of an experience.
func fill(e *experience.Experience, tensors map[string]trxp.Tensor) {
	if t, ok := tensors["tokens"]; ok {
		e.Tokens = t.Int32s()
	}
	for _, f := range floatFields(e) {
		if t, ok := tensors[f.name]; ok {
			*f.list = t.Float32s()
		}
	}
	if t, ok := tensors["action_mask"]; ok {
		list := t.Int32s()
		e.ActionMask = make([]bool, len(list))
		for i, v := range list {
			e.ActionMask[i] = v != 0
		}
	}
}

func integer(v any) int {
	n, _ := v.(int64)
	return int(n)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
