package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// messageForm is Anthropic's form of the answer to a chat: a message of blocks, first the thoughts, then the text, then
// the calls of tools. A call is complete when it is sent, and calls are sent last, so that a stream and a whole message
// have the same blocks in the same order.
type messageForm struct {
	open    string // the kind of the block that the stream is in; "" between blocks
	index   int    // of that block, or of the next
	thought strings.Builder
	calls   []speech.Call
	drawn   []tinker.Drawn // if the client asks for tokens or logprobs
	last    *piece
}

// whole returns the message.
func (m *messageForm) whole(a *answer, pieces []piece, _ []tinker.SampleResponse, u usage) param.Object {
	p := &pieces[0]
	blocks := []any{}
	if p.Reasoning != "" {
		blocks = append(blocks, param.Object{"type": "thinking", "thinking": p.Reasoning,
			"signature": signed(p.Reasoning)})
	}
	if p.Content != "" {
		blocks = append(blocks, param.Object{"type": "text", "text": p.Content})
	}
	for _, c := range p.Calls {
		blocks = append(blocks, toolUse(c, json.RawMessage(c.Arguments)))
	}
	out := m.message(a, blocks, u)
	out["stop_reason"], out["stop_sequence"] = p.stopReason()
	m.tokens(a, out, p)
	return out
}

// message is a message without its end.
func (m *messageForm) message(a *answer, blocks []any, u usage) param.Object {
	return param.Object{"id": a.id, "type": "message", "role": "assistant", "model": a.request.model, "content": blocks,
		"stop_reason": nil, "stop_sequence": nil, "usage": u.anthropic()}
}

// tokens adds the tokens and logprobs that a client asks for, as vLLM names them.
func (m *messageForm) tokens(a *answer, out param.Object, p *piece) {
	if a.tokenIDs {
		out["prompt_token_ids"], out["token_ids"] = a.prompts[0].tokens, p.ids()
	}
	if a.logprobs {
		out["logprobs"] = p.chatLogprobs()
	}
}

// anthropic is the usage in Anthropic's form, where cached tokens are not among the others.
func (u *usage) anthropic() param.Object {
	return param.Object{"input_tokens": u.prompts - u.cached, "cache_read_input_tokens": u.cached,
		"cache_creation_input_tokens": 0, "output_tokens": u.answers}
}

// stopReason says why a message ended and, if that was a stop sequence, which.
func (p *piece) stopReason() (reason, sequence any) {
	stop := p.speech.Stop
	switch {
	case p.finish == "tool_calls":
		return "tool_use", nil
	case stop != "":
		return "stop_sequence", stop
	case p.finish == string(tinker.StopLength):
		return "max_tokens", nil
	}
	return "end_turn", nil
}

// signed is the signature of a thought: its SHA-256. Clients send it back with the thought; some drop thoughts that
// have none.
func signed(thought string) string {
	sum := sha256.Sum256([]byte(thought))
	return hex.EncodeToString(sum[:])
}

// toolUse is a block with a call of a tool.
func toolUse(c speech.Call, input any) param.Object {
	return param.Object{"type": "tool_use", "id": newID("toolu_"), "name": c.Name, "input": input}
}

func (m *messageForm) begin(a *answer, e *event.Events) error {
	start := param.Object{"type": "message_start", "message": m.message(a, []any{},
		usage{prompts: len(a.prompts[0].tokens)})}
	if err := e.Named("message_start", start); err != nil {
		return err
	}
	return e.Named("ping", param.Object{"type": "ping"})
}

func (m *messageForm) piece(a *answer, e *event.Events, p *piece) error {
	m.last = p
	m.calls = append(m.calls, p.Calls...)
	if a.tokenIDs || a.logprobs {
		m.drawn = append(m.drawn, p.drawn...)
	}
	if p.Reasoning != "" {
		if err := m.enter(e, "thinking", param.Object{"type": "thinking", "thinking": "",
			"signature": ""}); err != nil {
			return err
		}
		m.thought.WriteString(p.Reasoning)
		if err := m.delta(e, param.Object{"type": "thinking_delta", "thinking": p.Reasoning}); err != nil {
			return err
		}
	}
	if p.Content == "" {
		return nil
	}
	if err := m.enter(e, "text", param.Object{"type": "text", "text": ""}); err != nil {
		return err
	}
	return m.delta(e, param.Object{"type": "text_delta", "text": p.Content})
}

// enter begins a block unless the stream is in one of that kind.
func (m *messageForm) enter(e *event.Events, kind string, block param.Object) error {
	if m.open == kind {
		return nil
	}
	if err := m.leave(e); err != nil {
		return err
	}
	m.open = kind
	return e.Named("content_block_start", param.Object{"type": "content_block_start", "index": m.index,
		"content_block": block})
}

func (m *messageForm) delta(e *event.Events, delta param.Object) error {
	return e.Named("content_block_delta", param.Object{"type": "content_block_delta", "index": m.index, "delta": delta})
}

// leave ends the block that the stream is in.
func (m *messageForm) leave(e *event.Events) error {
	if m.open == "" {
		return nil
	}
	if m.open == "thinking" {
		err := m.delta(e, param.Object{"type": "signature_delta", "signature": signed(m.thought.String())})
		if err != nil {
			return err
		}
	}
	stop := param.Object{"type": "content_block_stop", "index": m.index}
	m.open, m.index = "", m.index+1
	return e.Named("content_block_stop", stop)
}

func (m *messageForm) end(a *answer, e *event.Events, u usage) {
	if err := m.finish(a, e, u); err != nil {
		m.fail(a, e, err)
	}
}

// finish sends the calls and the end of the message.
func (m *messageForm) finish(a *answer, e *event.Events, u usage) error {
	for _, c := range m.calls {
		if err := m.enter(e, "tool_use "+newID(""), toolUse(c, param.Object{})); err != nil {
			return err
		}
		if err := m.delta(e, param.Object{"type": "input_json_delta", "partial_json": c.Arguments}); err != nil {
			return err
		}
	}
	if err := m.leave(e); err != nil {
		return err
	}
	if m.last == nil {
		return errors.New("endpoint: the sampler returned no tokens")
	}
	reason, sequence := m.last.stopReason()
	delta := param.Object{"stop_reason": reason, "stop_sequence": sequence}
	m.last.drawn = m.drawn
	m.tokens(a, delta, m.last)
	err := e.Named("message_delta", param.Object{"type": "message_delta", "delta": delta, "usage": u.anthropic()})
	if err != nil {
		return err
	}
	return e.Named("message_stop", param.Object{"type": "message_stop"})
}

func (m *messageForm) fail(_ *answer, e *event.Events, err error) {
	_ = e.Named("error", param.ErrorOf(err).Anthropic())
}
