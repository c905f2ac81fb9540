package tokenizer

import (
	"encoding/json"
	"fmt"
)

// postPart is a "post_processor" section.
type postPart struct {
	Type          string            `json:"type"`
	Processors    []json.RawMessage `json:"processors"`
	Single        []postItem        `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
	CLS []any `json:"cls"` // [token, id]
	SEP []any `json:"sep"`
}

// postItem is an element of a template: the text or a special token.
type postItem struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct{} `json:"Sequence"`
}

// parsePostProcessor returns the ids put before and after a single text.
func parsePostProcessor(data json.RawMessage, ids map[string]int32) (prefix, suffix []int32, err error) {
	prefix, suffix, err = postProcessor(data, ids, &parts{section: "post_processor"}, 0)
	if n := len(prefix) + len(suffix); n > maxAround && err == nil {
		err = fmt.Errorf("tokenizer: post_processor puts %d ids around a text; at most %d are supported", n, maxAround)
	}
	return prefix, suffix, err
}

func postProcessor(data json.RawMessage, ids map[string]int32, count *parts,
	depth int) (prefix, suffix []int32, err error) {
	if absent(data) {
		return nil, nil, nil
	}
	if err := count.deeper(depth); err != nil {
		return nil, nil, err
	}
	var p postPart
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, nil, fmt.Errorf("tokenizer: post_processor: %w", err)
	}
	switch p.Type {
	case "ByteLevel":
		return nil, nil, nil // it only trims offsets
	case "TemplateProcessing":
		return p.template()
	case "RobertaProcessing", "BertProcessing":
		return p.pair(ids)
	case "Sequence":
		for _, part := range p.Processors {
			before, after, err := postProcessor(part, ids, count, depth+1)
			if err != nil {
				return nil, nil, err
			}
			prefix, suffix = append(before, prefix...), append(suffix, after...)
		}
		return prefix, suffix, nil
	}
	return nil, nil, fmt.Errorf("tokenizer: post_processor %q is not supported", p.Type)
}

// template reads the items around the text of a TemplateProcessing.
func (p *postPart) template() (prefix, suffix []int32, err error) {
	to := &prefix
	for _, item := range p.Single {
		if item.SpecialToken == nil {
			to = &suffix
			continue
		}
		token, ok := p.SpecialTokens[item.SpecialToken.ID]
		if !ok {
			return nil, nil, fmt.Errorf("tokenizer: post_processor uses %q, which is not in its special_tokens",
				item.SpecialToken.ID)
		}
		*to = append(*to, token.IDs...)
		if len(*to) > maxAround {
			break // too many, which is for the caller to say
		}
	}
	return prefix, suffix, nil
}

// pair reads the cls and sep of a RobertaProcessing.
func (p *postPart) pair(ids map[string]int32) (prefix, suffix []int32, err error) {
	find := func(token []any) ([]int32, error) {
		if len(token) > 0 {
			if name, ok := token[0].(string); ok {
				if id, ok := ids[name]; ok {
					return []int32{id}, nil
				}
			}
		}
		return nil, fmt.Errorf("tokenizer: post_processor %s: token %v is not in the vocabulary", p.Type, token)
	}
	if prefix, err = find(p.CLS); err != nil {
		return nil, nil, err
	}
	suffix, err = find(p.SEP)
	return prefix, suffix, err
}
