package endpoint

import (
	"context"
	"math"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A text costs memory and time before its length in tokens is known. So it is bounded by the context of the model, and
// its memory is reserved in the budget of the listener (web.ShareOf), which is shared between tenants.

const (
	// copies is how often a body is in memory while it is read: as parameters, messages, what they are translated
	// into, and the rendered prompt.
	copies = 8
	// fewTokens is the context of a model for these bounds if it is shorter.
	fewTokens = 1 << 16
	// patience is the number of contexts that are encoded, so that a client hears by how much its prompt is too long.
	patience = 4
)

// opened is a request's body and the model that it names.
type opened struct {
	fields param.Fields
	name   string
	model  *Model
	done   func() // ends reading: it gives back the memory that was reserved for it
}

// open reads a body and finds the model that it names. Then it waits for the tenant's turn, and the texts of the model
// cost no more than the request may. The caller calls done, and closes the model.
func open(ctx context.Context, body []byte, find func(name string) (*Model, error)) (o *opened, err error) {
	share := web.ShareOf(ctx)
	before := share.Held()
	o = &opened{done: func() { share.Give(share.Held() - before) }}
	defer func() {
		if err != nil {
			o.done()
		}
	}()
	if err := share.Take(copies * int64(len(body))); err != nil {
		return o, err
	}
	if o.fields, err = param.ReadFields(body); err != nil {
		return o, err
	}
	if _, err := o.fields.Take("model", &o.name); err != nil {
		return o, err
	}
	if o.model, err = find(o.name); err != nil {
		return o, err
	}
	end, err := share.Turn(ctx)
	if err != nil {
		o.model.Close()
		return o, err
	}
	give := o.done
	o.done = func() { give(); end() }
	text := *o.model.Text
	text.context, text.share = o.model.Context, share
	o.model.Text = &text
	return o, nil
}

// encode returns the ids of a text. A text that is much longer than the context is refused, most often before all of it
// is encoded.
func (t *Text) encode(text string, special bool) ([]int32, error) {
	most := math.MaxInt
	if t.context > 0 && t.context < math.MaxInt32 {
		most = max(fewTokens, t.context)
	}
	if n := len(text) / t.Tokenizer.Longest(); n > most {
		return nil, param.TooMany(t.context, n)
	}
	if most < math.MaxInt {
		most *= patience
	}
	memory := tokenizer.Memory * int64(len(text))
	if err := t.share.Take(memory); err != nil {
		return nil, err
	}
	defer t.share.Give(memory)
	ids := t.Tokenizer.EncodeMost(text, special, most)
	if len(ids) > most {
		return nil, param.TooMany(t.context, len(ids))
	}
	return ids, nil
}

// decode returns the text of ids.
func (t *Text) decode(ids []int32, skipSpecial bool) (string, error) {
	n := 0
	for _, id := range ids {
		n += t.Tokenizer.Size(id)
	}
	if err := t.share.Take(copies * int64(n)); err != nil {
		return "", err
	}
	return t.Tokenizer.Decode(ids, skipSpecial), nil
}

// The limits of a body if a program serves the interfaces beside its own work.
const (
	MaxBody  = 32 << 20  // bytes
	maxParts = 256 << 10 // objects, arrays and members
	maxDepth = 64
)

// WeighBody estimates the bytes that a body takes when it is decoded, and refuses one with too many parts.
func WeighBody(body []byte) (int64, error) {
	return wire.WeighJSON(body, wire.Bounds{Elements: maxParts, Depth: maxDepth})
}
