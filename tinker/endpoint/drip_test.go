package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// drip is a script whose streams bring one token at a time. It is for bubbles of testing/synctest, where time passes
// when everybody waits, so that each token is read by itself.
type drip struct{ script }

func (d *drip) Stream(ctx context.Context, r tinker.SampleRequest) (*tinker.Stream, error) {
	f, err := d.Sample(ctx, r)
	if err != nil {
		return nil, err
	}
	res, err := f.Wait(ctx)
	if err != nil {
		return nil, err
	}
	g, resolve := tinker.NewFuture[tinker.SampleResponse]()
	s, add := tinker.NewStream(g)
	go func() {
		for i, q := range res.Sequences {
			for j, token := range q.Tokens {
				time.Sleep(time.Millisecond)
				x := tinker.Drawn{Sample: i, Token: token, Logprob: q.Logprobs[j]}
				if j == len(q.Tokens)-1 {
					x.Stop = q.StopReason
				}
				add(x)
			}
		}
		resolve(res, nil)
	}()
	return s, nil
}

// Token by token, a stream of every interface comes to what the whole answer is.
func TestStreamsTokenByToken(t *testing.T) {
	for _, said := range []string{"", "Hello, ä€😀!", "<think>\nHm.\n\n</think>\n\nHello", "<think>Hm", twoCalls,
		"<think>x</think>" + twoCalls + "\nand\nmore", "a <tool_call>\n{\"name\": 5}\n</tool_call>"} {
		m, _ := tools(t, said)
		s := m.Sampler.(*script)
		whole := *m
		synctest.Test(t, func(t *testing.T) {
			m.Sampler = &drip{*s}
			const more = `"model":"tiny","return_token_ids":true,"seed":1`
			const hi = more + `,"messages":[{"role":"user","content":"Hi"}],"max_tokens":99,"stream":%v,` +
				twoTools
			w, d := message(t, &whole, fmt.Sprintf("{"+hi+"}", false)), message(t, m, fmt.Sprintf("{"+hi+"}", true))
			if w.said() != d.said() || !slices.Equal(w.TokenIDs, d.TokenIDs) || len(w.TokenIDs) == 0 ||
				fmt.Sprint(w.Usage) != fmt.Sprint(d.Usage) {
				t.Errorf("%q: message %q %v, in a stream %q %v", said, w.said(), w.TokenIDs, d.said(), d.TokenIDs)
			}
			const input = `{` + more + `,"input":"Hi","stream":%v,` + twoFunctions + `}`
			rw, rd := response(t, &whole, fmt.Sprintf(input, false)), response(t, m, fmt.Sprintf(input, true))
			if rw.said() != rd.said() || !slices.Equal(rw.TokenIDs, rd.TokenIDs) || *rw.Usage != *rd.Usage {
				t.Errorf("%q: response %q %+v, in a stream %q %+v", said, rw.said(), rw.Usage, rd.said(), rd.Usage)
			}
			const ids = `{"model":"tiny","token_ids":[5],"sampling_params":{"logprobs":0},"stream":%v}`
			gw, gd := generation(t, &whole, fmt.Sprintf(ids, false)), generation(t, m, fmt.Sprintf(ids, true))
			if fmt.Sprint(gw.Choices[0].TokenIDs, gw.Choices[0].Finish) != fmt.Sprint(gd.Choices[0].TokenIDs,
				gd.Choices[0].Finish) || len(gd.Choices[0].Logprobs.Content) != len(gd.Choices[0].TokenIDs) {
				t.Errorf("%q: generation %+v, in a stream %+v", said, gw, gd)
			}
		})
	}
	m, _ := tools(t, "Hello there")
	synctest.Test(t, func(t *testing.T) {
		m.Sampler = &drip{*m.Sampler.(*script)}
		w := posts(t, m, messages, `{"model":"tiny","max_tokens":99,"stream":true,"messages":[{"role":"user",
			"content":"Hi"}]}`)
		if n := strings.Count(w.Body.String(), "text_delta"); n < 3 {
			t.Errorf("the text came in %d pieces: %s", n, w.Body)
		}
	})
}

// A tokenizer with a token at the beginning of a text: tokenize adds it to a text, and not to a chat, whose template
// writes its own.
func TestTokenizeWithABeginning(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(tinyModel, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	m, _ := tools(t, "")
	const name = "<|endoftext|>"
	id, ok := m.Text.Tokenizer.TokenID(name)
	if !ok {
		t.Fatal(name)
	}
	begin, text := param.Object{"SpecialToken": param.Object{"id": name, "type_id": 0}},
		param.Object{"Sequence": param.Object{"id": "A",
			"type_id": 0}}
	file["post_processor"] = param.Object{"type": "TemplateProcessing", "single": []any{begin, text},
		"pair":           []any{begin, text},
		"special_tokens": param.Object{name: param.Object{"id": name, "ids": []int32{id}, "tokens": []string{name}}}}
	if m.Text.Tokenizer, err = tokenizer.Parse(param.Encoded(file)); err != nil {
		t.Fatal(err)
	}
	const chat = `"messages":[{"role":"user","content":"7"}]`
	for body, want := range map[string]bool{`{"prompt":"7"}`: true, `{"prompt":"7","add_special_tokens":false}`: false,
		`{` + chat + `}`: false, `{` + chat + `,"add_special_tokens":true}`: true} {
		var got struct{ Tokens []int32 }
		w := sends(t, m, tokenize, body)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Tokens) == 0 ||
			(got.Tokens[0] == id) != want {
			t.Errorf("%s: %s, want %d at the beginning: %v", body, w.Body, id, want)
		}
	}
}
