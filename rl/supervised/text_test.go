package supervised

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// A text is its tokens and no more, and all but the first are trained; one of a single token trains nothing.
func TestText(t *testing.T) {
	s, warned := examples(t, plain, `{"text": "The sky is blue."}`, `{"text": "a"}`, `{"text": ""}`,
		`{"other": "x"}`)
	s.Plain, s.Format = true, dataset.Format{PromptKey: "text"}
	list, err := s.Row(dataset.Item{})
	if err != nil {
		t.Fatal(err)
	}
	e, want := list[0], s.Tokenizer.Encode("The sky is blue.", true)
	if !slices.Equal(e.Tokens, want) || e.PromptLength != 1 || trained(s, e) != " sky is blue." || e.Logprobs != nil {
		t.Errorf("the experience is %+v, want the tokens %v, of which the first is the prompt", e, want)
	}
	for i := 1; i < 3; i++ {
		if list, err = s.Row(dataset.Item{Index: i}); err != nil {
			t.Fatal(err)
		}
		if e := list[0]; e.TruncateStatus != experience.PromptTruncated || trained(s, e) != "" || e.Validate() != nil {
			t.Errorf("a short text is %+v (%v), want one that trains nothing", e, e.Validate())
		}
	}
	if len(*warned) != 2 || !strings.Contains((*warned)[0], "a text of 1 tokens trains nothing") {
		t.Errorf("warned %q", *warned)
	}
	if _, err := s.Row(dataset.Item{Index: 3}); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a row without the column: %v", err)
	}
	s.MaxTokens = 3
	if list, err = s.Row(dataset.Item{}); err != nil || !slices.Equal(list[0].Tokens, want[:3]) {
		t.Errorf("within 3 tokens: %v, %v", list, err)
	}
}

// A tokenizer's own special tokens begin a text.
func TestTextBeginsWithSpecialTokens(t *testing.T) {
	tok, err := tokenizer.Load("../../hf/tokenizer/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := examples(t, plain, `{"text": "Hi"}`)
	s.Plain, s.Tokenizer, s.Format = true, tok, dataset.Format{PromptKey: "text"}
	list, err := s.Row(dataset.Item{})
	if err != nil || !slices.Equal(list[0].Tokens, tok.Encode("Hi", true)) ||
		slices.Equal(list[0].Tokens, tok.Encode("Hi", false)) {
		t.Errorf("tokens %v, %v; want the beginning-of-text token first", list[0].Tokens, err)
	}
}
