package main

import (
	"slices"
	"strings"
	"testing"
)

func TestTrainBPE(t *testing.T) {
	counts := map[string]int{"low": 5, "lower": 2, "newest": 6, "widest": 3}
	got := trainBPE(counts, 4)
	want := []merge{{"e", "s"}, {"es", "t"}, {"l", "o"}, {"lo", "w"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := trainBPE(map[string]int{"ab": 1}, 4); len(got) != 0 {
		t.Errorf("a pair that occurs once was merged: %v", got)
	}
}

func TestMergeApply(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a b a b", "ab ab"}, {"a a b", "a ab"}, {"b a", "b a"}, {"", ""},
	} {
		got := strings.Join(merge{"a", "b"}.apply(strings.Fields(c.in)), " ")
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
	if got := strings.Join(merge{"a", "a"}.apply([]string{"a", "a", "a"}), " "); got != "aa a" {
		t.Errorf("three in a row: got %q, want %q", got, "aa a")
	}
}

func TestByteLetters(t *testing.T) {
	letters := byteLetters()
	seen := map[string]bool{}
	for b, l := range letters {
		if seen[l] {
			t.Errorf("byte %d: letter %q stands for another byte too", b, l)
		}
		seen[l] = true
	}
	for b, want := range map[byte]string{' ': "Ġ", '\n': "Ċ", 'a': "a", 0xFF: "ÿ", 0xAD: "Ń"} {
		if letters[b] != want {
			t.Errorf("byte %#x: got %q, want %q", b, letters[b], want)
		}
	}
}

func TestTokenizerIsWhole(t *testing.T) {
	tree := newTokenizer(1)
	model := tree["model"].(map[string]any)
	vocab, merges := model["vocab"].(map[string]int), model["merges"].([]string)
	byID := make([]string, vocabSize)
	place := func(token string, id int) {
		if id < 0 || id >= vocabSize || byID[id] != "" {
			t.Fatalf("token %q has id %d, which is taken or out of [0,%d)", token, id, vocabSize)
		}
		byID[id] = token
	}
	for token, id := range vocab {
		place(token, id)
	}
	for _, a := range tree["added_tokens"].([]addedToken) {
		place(a.Content, a.ID)
	}
	if n := len(vocab) + len(addedTokens); byID[n-1] == "" || slices.Contains(byID[:n], "") {
		t.Error("the ids have holes")
	}
	for _, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		for _, piece := range []string{left, right, left + right} {
			if _, ok := vocab[piece]; !ok {
				t.Errorf("merge %q: %q is not in the vocabulary", m, piece)
			}
		}
		if strings.ContainsAny(left+right, "0123456789") {
			t.Errorf("merge %q joins a digit", m)
		}
	}
	for _, name := range names {
		if _, ok := vocab["Ġ"+name]; !ok {
			t.Errorf("%q is not one token", name)
		}
	}
}
