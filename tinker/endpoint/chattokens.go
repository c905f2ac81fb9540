package endpoint

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// ChatTokens answers POST chat/completions/tokens: a chat whose prompt is the token ids in tokens, so that a client can
// continue a sample without encoding it again. The messages are read for the answer alone. The route is vLLM's
// in prime-rl, which the token client of verifiers up to 0.3 asks.
func (a *API) ChatTokens(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readChatTokens, "chatcmpl-")
}

// readChatTokens reads a chat and the ids of its prompt.
func readChatTokens(f param.Fields, t *Text) (*request, error) {
	var ids []int32
	if there, err := f.Take("tokens", &ids); err != nil {
		return nil, err
	} else if !there || len(ids) == 0 {
		return nil, param.Invalid("tokens", "tokens is missing; send the token ids of the prompt, or use "+
			"chat/completions")
	}
	if err := t.check("tokens", ids); err != nil {
		return nil, err
	}
	r, err := readChat(f, t)
	if err != nil {
		return nil, err
	}
	if r.chat.begun != "" {
		return nil, param.Invalid("tool_choice", "tool_choice begins the answer with a call, and tokens is the whole "+
			"prompt; use auto or none")
	}
	if last := r.chat.messages[len(r.chat.messages)-1]; last.Role != "assistant" {
		text, err := t.decode(ids, false)
		if err != nil {
			return nil, err
		}
		r.chat.inside = strings.HasSuffix(strings.TrimRight(text, speech.Blank), speech.ThinkOpen)
	}
	text, err := t.decode(ids, true)
	r.prompts = []prompt{{tokens: ids, text: text, fixed: true}}
	return r, err
}
