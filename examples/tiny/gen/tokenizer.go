package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

const (
	// vocabSize is the number of rows of the embedding; the tokenizer fills
	// them when the corpus has enough pairs to merge.
	vocabSize = 768
	// corpusRows is how many problems the tokenizer is trained on.
	corpusRows = 20_000
)

// addedTokens are the tokens outside the merges. The tags are ordinary text
// (they stay when special tokens are skipped) that is one token each.
var addedTokens = []addedToken{
	{Content: "<|endoftext|>", Special: true},
	{Content: "<|im_start|>", Special: true},
	{Content: "<|im_end|>", Special: true},
	{Content: "<think>"}, {Content: "</think>"},
	{Content: "<answer>"}, {Content: "</answer>"},
}

// splitPattern cuts text into pre-tokens as the Qwen tokenizers do: words with
// the space before them, single digits, runs of punctuation, white space.
const splitPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
	`\s*[\r\n]+|\s+(?!\S)|\s+`

// corpusSplit is splitPattern without the lookahead that Go lacks: in the
// corpus no white space but a single space or a newline occurs.
var corpusSplit = regexp.MustCompile(strings.Replace(splitPattern, `|\s+(?!\S)`, "", 1))

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// corpus counts words, each with the space before it. No pre-token reaches over such a space.
type corpus map[string]int

func (c corpus) add(text string, times int) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			word = " " + word
		}
		c[word] += times
	}
}

// preTokens splits each word once.
func (c corpus) preTokens() map[string]int {
	counts := map[string]int{}
	for word, times := range c {
		for _, t := range corpusSplit.FindAllString(word, -1) {
			counts[t] += times
		}
	}
	return counts
}

// preTokenCounts splits a corpus of problems, their solutions and the words of
// the chat format.
func preTokenCounts(seed uint64) map[string]int {
	c := corpus{}
	r := rand.New(rand.NewPCG(seed, 1<<33))
	for range corpusRows {
		p := newProblem(r)
		c.add(p.question, 1)
		c.add(p.working(), 1)
		c.add(strings.Join(p.prose, "\n"), 1)
	}
	for _, role := range []string{"system\n" + systemPrompt, "user\n", "assistant\n"} {
		c.add(role, corpusRows)
	}
	return c.preTokens()
}

// systemPrompt is format.system_prompt in gsm8k.yaml and pretrain.yaml.
const systemPrompt = "Think, then answer."

// newTokenizer trains the tokenizer and returns the tree of its tokenizer.json.
func newTokenizer(seed uint64) map[string]any {
	return trainTokenizer(preTokenCounts(seed), vocabSize, splitPattern, addedTokens)
}

// trainTokenizer fills size rows with the bytes, merges and added tokens.
func trainTokenizer(counts map[string]int, size int, split string, addedTokens []addedToken) map[string]any {
	merges := trainBPE(counts, size-256-len(addedTokens))
	vocab := map[string]int{}
	for _, letter := range byteLetters() {
		vocab[letter] = len(vocab)
	}
	pairs := make([]string, len(merges))
	for i, m := range merges {
		vocab[m.left+m.right] = len(vocab)
		pairs[i] = m.left + " " + m.right
	}
	added := append([]addedToken(nil), addedTokens...)
	for i := range added {
		added[i].ID = len(vocab) + i
	}
	return tokenizerTree(vocab, pairs, added, split)
}

// tokenizerTree is tokenizer.json's layout for a byte-level BPE.
func tokenizerTree(vocab map[string]int, merges []string, added []addedToken, pattern string) map[string]any {
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
		"use_regex": false}
	split := map[string]any{"type": "Split", "pattern": map[string]any{"Regex": pattern}, "behavior": "Isolated",
		"invert": false}
	return map[string]any{
		"version":        "1.0",
		"truncation":     nil,
		"padding":        nil,
		"added_tokens":   added,
		"normalizer":     map[string]any{"type": "NFC"},
		"pre_tokenizer":  map[string]any{"type": "Sequence", "pretokenizers": []any{split, byteLevel}},
		"post_processor": byteLevel,
		"decoder":        byteLevel,
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil,
			"continuing_subword_prefix": "", "end_of_word_suffix": "",
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
			"vocab": vocab, "merges": merges,
		},
	}
}

// tokenID is an added token's id in a tree of newTokenizer.
func tokenID(tokenizer map[string]any, content string) (int, error) {
	for _, t := range tokenizer["added_tokens"].([]addedToken) {
		if t.Content == content {
			return t.ID, nil
		}
	}
	return 0, fmt.Errorf("gen: the tokenizer has no token %q", content)
}
