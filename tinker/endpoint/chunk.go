package endpoint

import (
	"encoding/json"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Events of chats and completions are put together by hand, since a busy server sends thousands in a second. They have
// the bytes that package json gives the same objects: members in the order of their names.

// appendChunk appends the event of a piece.
func (a *answer) appendChunk(b []byte, p *piece) ([]byte, error) {
	var err error
	b = append(b, `data: {"choices":[{`...)
	if a.chat != nil {
		if b, err = p.appendDelta(append(b, `"delta":`...)); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	b = append(b, `"finish_reason":`...)
	if p.finish == "" {
		b = append(b, `null,"index":`...)
	} else {
		b = append(appendString(b, p.finish), `,"index":`...)
	}
	b = append(strconv.AppendInt(b, int64(p.index), 10), `,"logprobs":`...)
	if !a.logprobs {
		b = append(b, "null"...)
	} else if b, err = appendJSON(b, a.details(p, nil, nil)); err != nil {
		return b, err
	}
	if a.chat == nil {
		b = appendString(append(b, `,"text":`...), p.Content)
	}
	if a.tokenIDs {
		b = append(b, `,"token_ids":[`...)
		for i, d := range p.drawn {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(d.Token), 10)
		}
		b = append(b, ']')
	}
	return append(b, a.tail...), nil
}

// chunkTail is the end of each event with a piece of the answer.
func (a *answer) chunkTail() []byte {
	h := a.head(".chunk")
	b := append([]byte(`}],"created":`), param.Encoded(h["created"])...)
	for _, name := range []string{"id", "model", "object"} {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = append(b, param.Encoded(h[name])...)
	}
	if a.usage {
		b = append(b, `,"usage":null`...)
	}
	return append(b, "}\n\n"...)
}

// appendDelta appends the addition of a piece to an assistant's message.
func (p *piece) appendDelta(b []byte) ([]byte, error) {
	if len(p.Calls) > 0 {
		return appendJSON(b, p.delta())
	}
	b = append(b, '{')
	if p.Content != "" {
		b = appendString(append(b, `"content":`...), p.Content)
	}
	if p.Reasoning != "" {
		if p.Content != "" {
			b = append(b, ',')
		}
		b = appendString(append(b, `"reasoning_content":`...), p.Reasoning)
	}
	return append(b, '}'), nil
}

func appendJSON(b []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return append(b, raw...), err
}

// appendString appends a text as JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(s) // texts
			return append(b, raw...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
