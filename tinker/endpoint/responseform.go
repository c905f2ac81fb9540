package endpoint

import (
	"errors"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// responseForm is OpenAI's form of a response: items, first the thoughts, then the text, then the calls of tools. Calls
// are sent last, so that a stream and a whole response have the same items in the same order.
type responseForm struct {
	echo  param.Object // parameters that the response repeats
	count int          // events so far
	done  []any        // the items that are complete
	item  param.Object // the one that is written; nil between items
	said  strings.Builder
	probs []any // logprobs of its text
	calls []speech.Call
	drawn []tinker.Drawn
	last  *piece
}

func (r *responseForm) whole(a *answer, pieces []piece, _ []tinker.SampleResponse, u usage) param.Object {
	p := &pieces[0]
	r.drawn = p.drawn
	status := p.responseStatus()
	items := []any{}
	if p.Reasoning != "" {
		items = append(items, textItem("reasoning", p.Reasoning, "completed", nil))
	}
	if p.Content != "" {
		items = append(items, textItem("message", p.Content, status, p.spokenLogprobs()))
	}
	for _, c := range p.Calls {
		items = append(items, callItem(c))
	}
	return r.response(a, status, items, p, &u)
}

// responseStatus is how the answer ended.
func (p *piece) responseStatus() string {
	if p.finish == string(tinker.StopLength) {
		return "incomplete"
	}
	return "completed"
}

// textItem is an item with a text and, if they are asked for, its logprobs.
func textItem(kind, text, status string, logprobs []any) param.Object {
	if kind == "reasoning" {
		return param.Object{"type": kind, "id": newID("rs_"), "status": status, "summary": []any{},
			"content": []any{textPart(kind, text, nil)}}
	}
	return param.Object{"type": kind, "id": newID("msg_"), "status": status, "role": "assistant",
		"content": []any{textPart(kind, text, logprobs)}}
}

// textPart is the part of an item that has its text.
func textPart(kind, text string, logprobs []any) param.Object {
	if kind == "reasoning" {
		return param.Object{"type": "reasoning_text", "text": text}
	}
	return param.Object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": orEmpty(logprobs)}
}

// orEmpty is a list that is not null in JSON.
func orEmpty(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// spokenLogprobs are the logprobs of the tokens that content came from.
func (p *piece) spokenLogprobs() []any { return p.logprobsOf(p.spoken) }

// callItem is an item with a call of a tool.
func callItem(c speech.Call) param.Object {
	return param.Object{"type": "function_call", "id": newID("fc_"), "call_id": newID("call_"), "name": c.Name,
		"arguments": c.Arguments, "status": "completed"}
}

// response is the response with its items so far. p and u are nil until the end.
func (r *responseForm) response(a *answer, status string, items []any, p *piece, u *usage) param.Object {
	out := param.Object{"id": a.id, "object": "response", "created_at": a.created, "status": status, "output": items,
		"model": a.request.model, "error": nil, "incomplete_details": nil, "usage": nil, "store": false,
		"background": false, "previous_response_id": nil, "truncation": "disabled", "service_tier": "default"}
	maps.Copy(out, r.echo)
	if status == "incomplete" {
		out["incomplete_details"] = param.Object{"reason": "max_output_tokens"}
	}
	if u != nil {
		out["usage"] = param.Object{"input_tokens": u.prompts, "output_tokens": u.answers,
			"total_tokens":          u.prompts + u.answers,
			"input_tokens_details":  param.Object{"cached_tokens": u.cached, "cache_write_tokens": 0},
			"output_tokens_details": param.Object{"reasoning_tokens": thoughtTokens(a, r.drawn)}}
	}
	if a.tokenIDs && p != nil {
		p.drawn = r.drawn
		out["prompt_token_ids"], out["token_ids"] = a.prompts[0].tokens, p.ids()
	}
	return out
}

// thoughtTokens is the number of tokens up to the end of the thoughts with which an answer begins.
func thoughtTokens(a *answer, drawn []tinker.Drawn) int {
	text, thinks := "", a.chat.inside // text: what may still be part of a mark
	for i, d := range drawn {
		text += string(a.model.Text.Tokenizer.Bytes(d.Token))
		if !thinks {
			text = strings.TrimLeft(text, speech.Blank)
			if thinks = strings.HasPrefix(text, speech.ThinkOpen); !thinks && !strings.HasPrefix(speech.ThinkOpen,
				text) {
				return 0
			}
		}
		if thinks && strings.Contains(text, speech.ThinkClose) {
			return i + 1
		}
		if thinks {
			text = text[len(text)-speech.Overlap(text, speech.ThinkClose):]
		}
	}
	if !thinks {
		return 0
	}
	return len(drawn)
}

// send sends an event with its number.
func (r *responseForm) send(e *event.Events, kind string, v param.Object) error {
	v["type"], v["sequence_number"] = kind, r.count
	r.count++
	return e.Named(kind, v)
}

func (r *responseForm) begin(a *answer, e *event.Events) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		v := param.Object{"response": r.response(a, "in_progress", []any{}, nil, nil)}
		if err := r.send(e, kind, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *responseForm) piece(_ *answer, e *event.Events, p *piece) error {
	r.last = p
	r.calls = append(r.calls, p.Calls...)
	r.drawn = append(r.drawn, p.drawn...)
	if err := r.write(e, "reasoning", p.Reasoning, nil); err != nil {
		return err
	}
	return r.write(e, "message", p.Content, p.spokenLogprobs())
}

// write adds text to an item of a kind, and begins one unless it is the one that is written.
func (r *responseForm) write(e *event.Events, kind, text string, logprobs []any) error {
	if text == "" {
		return nil
	}
	if r.item == nil || r.item["type"] != kind {
		if err := r.leave(e, "completed"); err != nil {
			return err
		}
		r.item = textItem(kind, "", "in_progress", nil)
		item := maps.Clone(r.item)
		item["content"] = []any{}
		err := r.send(e, "response.output_item.added", param.Object{"output_index": len(r.done), "item": item})
		if err != nil {
			return err
		}
		part := r.place(param.Object{"part": textPart(kind, "", nil)})
		if err := r.send(e, "response.content_part.added", part); err != nil {
			return err
		}
	}
	r.said.WriteString(text)
	r.probs = append(r.probs, logprobs...)
	v := r.place(param.Object{"delta": text})
	if kind == "message" {
		v["logprobs"] = orEmpty(logprobs)
	}
	return r.send(e, textEvent(kind)+".delta", v)
}

// textEvent begins the names of the events of an item's text.
func textEvent(kind string) string {
	if kind == "reasoning" {
		return "response.reasoning_text"
	}
	return "response.output_text"
}

// place adds the position of the text that is being written.
func (r *responseForm) place(v param.Object) param.Object {
	v["item_id"], v["output_index"], v["content_index"] = r.item["id"], len(r.done), 0
	return v
}

// leave ends the item that is written.
func (r *responseForm) leave(e *event.Events, status string) error {
	if r.item == nil {
		return nil
	}
	kind, text, logprobs := r.item["type"].(string), r.said.String(), r.probs
	r.said.Reset()
	r.probs = nil
	v := r.place(param.Object{"text": text})
	if kind == "message" {
		v["logprobs"] = orEmpty(logprobs)
	}
	if err := r.send(e, textEvent(kind)+".done", v); err != nil {
		return err
	}
	part := r.place(param.Object{"part": textPart(kind, text, logprobs)})
	if err := r.send(e, "response.content_part.done", part); err != nil {
		return err
	}
	r.item["status"], r.item["content"] = status, []any{textPart(kind, text, logprobs)}
	item, at := r.item, len(r.done)
	r.done, r.item = append(r.done, item), nil
	return r.send(e, "response.output_item.done", param.Object{"output_index": at, "item": item})
}

// tool sends a call.
func (r *responseForm) tool(e *event.Events, c speech.Call) error {
	item, at := callItem(c), len(r.done)
	begun := maps.Clone(item)
	begun["arguments"], begun["status"] = "", "in_progress"
	r.done = append(r.done, item)
	if err := r.send(e, "response.output_item.added", param.Object{"output_index": at, "item": begun}); err != nil {
		return err
	}
	const arguments = "response.function_call_arguments"
	v := param.Object{"item_id": item["id"], "output_index": at, "delta": c.Arguments}
	if err := r.send(e, arguments+".delta", v); err != nil {
		return err
	}
	v = param.Object{"item_id": item["id"], "output_index": at, "arguments": c.Arguments, "name": c.Name}
	if err := r.send(e, arguments+".done", v); err != nil {
		return err
	}
	return r.send(e, "response.output_item.done", param.Object{"output_index": at, "item": item})
}

func (r *responseForm) end(a *answer, e *event.Events, u usage) {
	if err := r.finish(a, e, u); err != nil {
		r.fail(a, e, err)
	}
}

// finish sends the calls and the end of the response.
func (r *responseForm) finish(a *answer, e *event.Events, u usage) error {
	if r.last == nil {
		return errors.New("endpoint: the sampler returned no tokens")
	}
	status := r.last.responseStatus()
	own := status
	if r.item != nil && r.item["type"] == "reasoning" {
		own = "completed"
	}
	if err := r.leave(e, own); err != nil {
		return err
	}
	for _, c := range r.calls {
		if err := r.tool(e, c); err != nil {
			return err
		}
	}
	v := param.Object{"response": r.response(a, status, append([]any{}, r.done...), r.last, &u)}
	return r.send(e, "response."+status, v)
}

// fail ends the stream with a response that failed.
func (r *responseForm) fail(a *answer, e *event.Events, err error) {
	told := param.ErrorOf(err)
	v := r.response(a, "failed", append([]any{}, r.done...), nil, nil)
	code := map[string]string{param.InvalidRequest: "invalid_prompt",
		"rate_limit_error": "rate_limit_exceeded"}[told.Type]
	if code == "" {
		code = "server_error"
	}
	v["error"] = param.Object{"code": code, "message": told.Message}
	_ = r.send(e, "response.failed", param.Object{"response": v})
}
