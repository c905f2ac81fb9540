package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

type object = map[string]any

// body is the answer as one JSON object.
func (s *Server) body(req *request, a *answered) object {
	list := make([]any, len(a.choices))
	for i, c := range a.choices {
		out := object{"index": i, "logprobs": nil}
		if req.chat != nil {
			out["message"], out["finish_reason"] = s.message(req, a, i, c)
		} else {
			out["text"], out["finish_reason"] = c.text, string(c.StopReason)
		}
		s.details(req, c, out)
		list[i] = out
	}
	b := s.head(req, a, "")
	b["choices"], b["usage"] = list, usage(req, a)
	if req.TokenIDs {
		b["prompt_token_ids"] = req.prompt
	}
	return b
}

// head are the fields that every answer and every piece of a stream begins with.
func (s *Server) head(req *request, a *answered, suffix string) object {
	kind := "text_completion"
	if req.chat != nil {
		kind = "chat.completion" + suffix
	}
	return object{"id": a.id, "object": kind, "created": a.created, "model": s.Name}
}

// details adds logprobs and token ids, if the request asks for them.
func (s *Server) details(req *request, c choice, out object) {
	if req.wantsLogprobs() {
		out["logprobs"] = s.logprobs(req, c)
	}
	if req.TokenIDs {
		out["token_ids"] = c.Tokens
	}
}

func (s *Server) logprobs(req *request, c choice) object {
	texts := make([]string, len(c.Tokens))
	content := make([]any, len(c.Tokens))
	for i, id := range c.Tokens {
		texts[i] = s.Model.Decode([]int32{id})
		bytes := make([]int, 0, len(texts[i]))
		for _, b := range []byte(texts[i]) {
			bytes = append(bytes, int(b))
		}
		content[i] = object{"token": texts[i], "logprob": c.Logprobs[i], "bytes": bytes, "top_logprobs": []any{}}
	}
	if req.chat != nil {
		return object{"content": content, "refusal": nil}
	}
	return object{"tokens": texts, "token_logprobs": c.Logprobs}
}

// message is an assistant's message with the calls that it makes.
func (s *Server) message(req *request, a *answered, i int, c choice) (object, string) {
	m, err := chat.ParseAnswer(c.text, s.Model.Style(), req.tools...)
	if err != nil || len(m.ToolCalls) == 0 && m.Reasoning == "" {
		return object{"role": "assistant", "content": c.text}, string(c.StopReason)
	}
	out := object{"role": "assistant", "content": m.Content}
	if m.Reasoning != "" {
		out["reasoning_content"] = m.Reasoning
	}
	if len(m.ToolCalls) == 0 {
		return out, string(c.StopReason)
	}
	calls := make([]any, len(m.ToolCalls))
	for j, v := range m.ToolCalls {
		call, _ := v.(*jinja.Map)
		f, _ := call.Get("function")
		function, _ := f.(*jinja.Map)
		name, _ := function.Get("name")
		arguments, _ := function.Get("arguments")
		calls[j] = object{"index": j, "id": fmt.Sprintf("call_%s_%d_%d", a.id[len(a.id)-12:], i, j), "type": "function",
			"function": object{"name": name, "arguments": toJSON(arguments)}}
	}
	out["tool_calls"] = calls
	reason := string(c.StopReason)
	if c.StopReason == tinker.StopStop {
		reason = "tool_calls"
	}
	return out, reason
}

func usage(req *request, a *answered) object {
	n := 0
	for _, c := range a.choices {
		n += len(c.Tokens)
	}
	return object{"prompt_tokens": len(req.prompt), "completion_tokens": n, "total_tokens": len(req.prompt) + n}
}

// stream sends an answer as server-sent events: for each choice its text and then why it ended, and after all of them
// [DONE].
func (s *Server) stream(w http.ResponseWriter, req *request, a *answered) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(v object) {
		data, err := json.Marshal(v)
		if err != nil {
			return // it is made of texts and numbers
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	piece := func(c object) object {
		p := s.head(req, a, ".chunk")
		p["choices"] = []any{c}
		return p
	}
	for i, c := range a.choices {
		out := object{"index": i, "finish_reason": nil, "logprobs": nil}
		reason := string(c.StopReason)
		if req.chat != nil {
			out["delta"], reason = s.message(req, a, i, c)
		} else {
			out["text"] = c.text
		}
		s.details(req, c, out)
		first := piece(out)
		if req.TokenIDs && i == 0 {
			first["prompt_token_ids"] = req.prompt
		}
		send(first)
		end := object{"index": i, "finish_reason": reason}
		if req.chat != nil {
			end["delta"] = object{}
		} else {
			end["text"] = ""
		}
		send(piece(end))
	}
	if req.Options != nil && req.Options.Usage {
		p := s.head(req, a, ".chunk")
		p["choices"], p["usage"] = []any{}, usage(req, a)
		send(p)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
