package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// workKind is the kind of a row's work.
type workKind string

const (
	// forward and backward of a LoRA on all linears of the layers, cross-entropy of every next token
	train   workKind = "train"
	prefill workKind = "prefill" // a prompt, and the logits after it
	// tokens drawn one after another from the whole distribution, after a context that is computed already
	decode workKind = "decode"
)

// loraRank is the rank of the adapter that training rows train.
const loraRank = 32

// row is a piece of work on a model.
type row struct {
	name      string
	kind      workKind
	shape     shape
	sequences int
	tokens    int  // of a sequence: trained on, of the prompt, or of the context
	steps     int  // tokens that a decoding sequence draws
	recompute bool // a backward computes the activations again instead of keeping them
	common    bool // measured if no rows are chosen, in a run of half an hour
}

// rows lists all rows, grouped by model: each model is loaded once.
func rows() []row {
	var list []row
	for _, s := range shapes() {
		list = append(list, s.rows()...)
	}
	return list
}

// rows lists the rows of one model.
func (s shape) rows() []row {
	var list []row
	add := func(name string, k workKind, sequences, tokens, steps int) {
		list = append(list, row{name: name, kind: k, shape: s, sequences: sequences, tokens: tokens, steps: steps,
			common: slices.Contains(common(), name)})
	}
	add("train-"+s.name, train, 1, 512, 0)
	add("train4-"+s.name, train, 4, 128, 0)
	add("prefill-"+s.name, prefill, 1, 512, 0)
	add("decode-"+s.name+"-1", decode, 1, 256, 8)
	add("decode-"+s.name+"-8", decode, 8, 256, 8)
	many := 4
	if s.large() {
		many = 2
	}
	add("decode-"+s.name+"-64", decode, 64, 256, many)
	if s.long() {
		for _, tokens := range []int{2048, 4096, 8192} {
			add(fmt.Sprintf("prefill-%s-%d", s.name, tokens), prefill, 1, tokens, 0)
		}
		add("train-"+s.name+"-4096", train, 1, 4096, 0)
		list[len(list)-1].recompute = true
	}
	return list
}

// common are the rows that are measured if none are chosen, which take half an hour.
func common() []string {
	return []string{
		"train-9m", "prefill-9m", "decode-9m-1", "decode-9m-64",
		"train-0.6b", "prefill-0.6b", "decode-0.6b-1", "decode-0.6b-8", "decode-0.6b-64",
		"train-1b", "prefill-1b", "decode-1b-1", "decode-1b-64",
		"train-3b", "prefill-3b", "decode-3b-1", "decode-3b-64",
	}
}

// choose returns those rows of list that a comma-separated list names, in the order of list. A name may end in *;
// "common" stands for the common rows.
func choose(list []row, names string) ([]row, error) {
	wanted := map[string]bool{}
	for _, name := range strings.Split(names, ",") {
		stem, many := strings.CutSuffix(name, "*")
		found := false
		for _, r := range list {
			if r.name == name || many && strings.HasPrefix(r.name, stem) || name == "common" && r.common {
				wanted[r.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("peers: row %q is unknown; use %s", name, strings.Join(rowNames(list), ", "))
		}
	}
	return slices.DeleteFunc(list, func(r row) bool { return !wanted[r.name] }), nil
}

func rowNames(list []row) []string {
	var names []string
	for _, r := range list {
		names = append(names, r.name)
	}
	return names
}

// count is the number of tokens in the row's rate.
func (r row) count() int {
	if r.kind == decode {
		return r.sequences * r.steps
	}
	return r.sequences * r.tokens
}

// alike names the rows of a model that share one setting: products with one row are bound by memory, others by
// arithmetic.
func (r row) alike() string {
	if r.kind == decode && r.sequences == 1 {
		return "decode alone"
	}
	return string(r.kind)
}

// ids are the row's tokens: those of every sequence, or the one context that all sequences continue.
func (r row) ids() [][]int32 {
	n := r.sequences
	if r.kind == decode {
		n = 1
	}
	rng := rand.New(rand.NewPCG(1, uint64(r.tokens)))
	out := make([][]int32, n)
	for i := range out {
		out[i] = make([]int32, r.tokens)
		for j := range out[i] {
			out[i][j] = int32(rng.IntN(r.shape.vocab))
		}
	}
	return out
}

// wanted is the target of trinity's rate divided by a peer's.
func (r row) wanted(p peer) float64 {
	switch {
	case r.kind == train && r.shape.small():
		return 2
	case r.recompute:
		return 1.3
	case r.kind == prefill && r.tokens == 8192:
		return 1.2
	case r.kind == train:
		return 1.2
	case r.kind == decode && p.name == "PyTorch": // its generate
		return 3
	default:
		return 0.95
	}
}
