package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// talk is a conversation that is sampled as a workflow does it.
type talk struct {
	t        *testing.T
	template *Template
	tok      *tokenizer.Tokenizer
	messages []Message
	seq      Sequence
	began    int // sequences
}

// turn says something and samples the answer: ids, and whether the model ended it. It returns what the model read.
func (c *talk) turn(user string, answer []int32, ended bool) []int32 {
	c.t.Helper()
	c.messages = append(c.messages, Message{Role: "user", Content: user})
	text, err := c.template.Render(c.messages, Options{AddGenerationPrompt: true})
	if err != nil {
		c.t.Fatal(err)
	}
	read, continues, err := c.seq.Next(text, func(part string) ([]int32, error) {
		return c.tok.Encode(part, false), nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if !continues {
		c.began++
	} else if !slices.Equal(read[:len(c.seq.Tokens)], c.seq.Tokens) {
		c.t.Errorf("the model read %v, want it to begin with %v", read, c.seq.Tokens)
	}
	heard := c.tok.Decode(answer, true)
	c.seq.Record(read, text, answer, heard, ended)
	c.messages = append(c.messages, Message{Role: "assistant", Content: heard})
	return read
}

func talking(t *testing.T, model, file string, conf *tokenizer.Config) *talk {
	t.Helper()
	template, tok := parts(t, model, file, conf)
	return &talk{t: t, template: template, tok: tok}
}

// ids are the words', each encoded separately, as a sampler may have drawn them and no encoder would.
func (c *talk) ids(words ...string) (ids []int32) {
	for _, w := range words {
		ids = append(ids, c.tok.Encode(w, false)...)
	}
	return ids
}

// Qwen3 drops the thoughts of earlier turns, Llama 3 trims answers; an answer that they leave as it is continues.
func TestSequencesOfRealTemplates(t *testing.T) {
	for name, tt := range map[string]struct {
		model, file string
		answer      []string
		end         string // what the model writes after it
		began       int    // sequences after three turns
	}{
		"qwen3, no thoughts": {"qwen3", "qwen2", []string{"it", " is", " f", "our"}, "<|im_end|>", 1},
		"qwen3, thoughts": {"qwen3", "qwen2", []string{"<think>\nhm\n</think>\n\n", "four"},
			"<|im_end|>", 3},
		"qwen3, cut":                     {"qwen3", "qwen2", []string{"it", " is", " f"}, "", 1},
		"qwen3, cut within its thoughts": {"qwen3", "qwen2", []string{"<think>\nhm"}, "", 1},
		"qwen3, a line feed in front":    {"qwen3", "qwen2", []string{"\n", "four"}, "<|im_end|>", 1},
		"llama32, as it is":              {"llama32", "llama3", []string{"it", " is", " f", "our"}, "", 1},
		"llama32, space around":          {"llama32", "llama3", []string{" four", " \n"}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := talking(t, tt.model, tt.file, &tokenizer.Config{BOSToken: "<|begin|>"})
			answer := c.ids(append(tt.answer, tt.end)...)
			var last []int32
			for range 3 {
				last = c.turn("2+2?", answer, tt.end != "")
			}
			if c.began != tt.began {
				t.Errorf("%d sequences began, want %d", c.began, tt.began)
			}
			// What the model read is the rendered conversation, token by token of its own making.
			text, err := c.template.Render(c.messages[:5], Options{AddGenerationPrompt: true})
			if got := c.tok.Decode(last, false); err != nil || got != text {
				t.Errorf("the model read\n%q\nwant\n%q, %v", got, text, err)
			}
			if begin, ok := c.tok.TokenID("<|begin|>"); ok && tt.model == "llama32" {
				if n := len(slices.DeleteFunc(slices.Clone(last), func(id int32) bool { return id != begin })); n != 1 {
					t.Errorf("the conversation begins %d times, want once", n)
				}
			}
		})
	}
}

// bytewise encodes a byte as its value; 0 is a special token that the template writes as <end>.
func bytewise(text string) (ids []int32, err error) {
	for i, part := range strings.Split(text, "<end>") {
		if i > 0 {
			ids = append(ids, 0)
		}
		for _, b := range []byte(part) {
			ids = append(ids, int32(b))
		}
	}
	return ids, nil
}

func TestSequenceNext(t *testing.T) {
	known := Sequence{Tokens: []int32{'q', 300, 'b', 0}, Text: "qab", Ended: true} // 300: "a", as no encoder writes it
	cut := Sequence{Tokens: []int32{'q', 300, '\n'}, Text: "qa\n"}
	half := Sequence{Tokens: []int32{'q', 0xc3}, Text: "q\uFFFD"}
	for name, tt := range map[string]struct {
		seq       Sequence
		text      string
		want      []int32
		continues bool
	}{
		"before the first answer":                      {Sequence{}, "qa", []int32{'q', 'a'}, false},
		"the end that the model wrote is not repeated": {known, "qab<end>r", []int32{'q', 300, 'b', 0, 'r'}, true},
		"another end is added":                         {known, "qab;r", []int32{'q', 300, 'b', 0, ';', 'r'}, true},
		"nothing is added":                             {known, "qab", []int32{'q', 300, 'b', 0}, true},
		"a changed turn":                               {known, "qb<end>r", []int32{'q', 'b', 0, 'r'}, false},
		"a shorter conversation":                       {known, "qa", []int32{'q', 'a'}, false},
		"a cut answer gets the template's end":         {cut, "qa\n<end>r", []int32{'q', 300, '\n', 0, 'r'}, true},
		"a cut answer keeps its line feed":             {cut, "qa\n\nr", []int32{'q', 300, '\n', '\n', 'r'}, true},
		"half a character stays":                       {half, "q\uFFFD<end>", []int32{'q', 0xc3, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.seq.Tokens)
			got, continues, err := tt.seq.Next(tt.text, bytewise)
			if err != nil || continues != tt.continues || !slices.Equal(got, tt.want) {
				t.Errorf("ids %v, continues %v, %v; want %v, %v", got, continues, err, tt.want, tt.continues)
			}
			for i := range got {
				got[i] = -1
			}
			if !slices.Equal(tt.seq.Tokens, before) {
				t.Error("the result shares memory with the sequence")
			}
		})
	}
}
