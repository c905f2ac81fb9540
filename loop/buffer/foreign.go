package buffer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/trxp"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// foreign is an experience that Trinity-RFT wrote. Images and routed experts are not read: no model here has them.
func foreign(item trxp.Item, r row) (*experience.Experience, error) {
	f := item.Fields
	if f["chosen_messages"] != nil || item.Tensors["chosen"].Type != "" {
		return nil, errors.New("it is a pair of dpo; name the table as a data set of algorithm dpo")
	}
	eid, _ := f["eid"].(map[string]any)
	batch := ""
	if eid["batch"] != nil {
		batch = fmt.Sprint(eid["batch"])
	}
	e := &experience.Experience{
		EID: experience.EID{Batch: batch, Task: r.task, Run: r.run, Step: integer(eid["step"]),
			Suffix: r.suffix},
		PromptLength: integer(f["prompt_length"]), Reward: r.reward, PromptText: text(f["prompt_text"]),
		ResponseText: text(f["response_text"]), TruncateStatus: experience.TruncateStatus(text(f["truncate_status"])),
		Info: experience.Info{ModelVersion: r.version}, StopReason: experience.StopStop,
	}
	if e.TruncateStatus == experience.ResponseTruncated {
		e.StopReason = experience.StopLength
	}
	if f["messages"] != nil {
		list, err := json.Marshal(f["messages"])
		if err != nil {
			return nil, fmt.Errorf("its messages: %w", err)
		}
		e.MessagesJSON = string(list)
	}
	info, _ := f["info"].(map[string]any)
	if at, ok := info["task_index"].(map[string]any); ok {
		e.Info.TaskIndex, e.Info.TasksetID = integer(at["index"]), integer(at["taskset_id"])
	}
	e.Info.IsExpert = info["is_expert"] == true
	metrics, _ := f["metrics"].(map[string]any)
	e.Metrics = numbers(nil, "", metrics)
	e.Metrics = numbers(e.Metrics, experience.InfoPrefix, info)
	fill(e, item.Tensors)
	if e.PromptLength > len(e.Tokens) || len(e.ActionMask) > len(e.Tokens) {
		return nil, fmt.Errorf("it has %d tokens with a prompt of %d and a mask of %d", len(e.Tokens), e.PromptLength,
			len(e.ActionMask))
	}
	if n := len(e.ActionMask); n > 0 { // upstream trains the tokens at the mask's end, whatever prompt_length says
		e.PromptLength = len(e.Tokens) - n
	}
	return e, e.Validate()
}

// numbers adds the finite numbers among values under a prefix.
func numbers(into map[string]float64, prefix string, values map[string]any) map[string]float64 {
	for name, v := range values {
		var x float64
		switch n := v.(type) {
		case float64:
			x = n
		case int64:
			x = float64(n)
		default:
			continue
		}
		if into == nil {
			into = map[string]float64{}
		}
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			into[prefix+name] = x
		}
	}
	return into
}
