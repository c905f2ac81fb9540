package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/pattern"
)

// peftPatterns are PEFT's rank_pattern and alpha_pattern: ranks and alphas of single matrices. A key is a regular
// expression for the end of a matrix's name that begins after a point, and the first one that matches counts
// (get_pattern_key in peft/utils/other.py).
type peftPatterns struct {
	config      peftConfig
	rank, alpha []peftPattern
}

type peftPattern struct {
	expr  *pattern.Pattern
	value float64
}

// readPatterns reads one of the two, in the order of the file.
func readPatterns(key string, data json.RawMessage) (list []peftPattern, err error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	var values map[string]float64
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for t, err := d.Token(); err == nil; t, err = d.Token() {
		name, ok := t.(string)
		if !ok {
			continue
		}
		v := values[name]
		expr, err := pattern.Compile(`^(?:.*\.)?(?:` + name + `)$`)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %q: %w", key, name, err)
		case !(v > 0) || math.IsInf(v, 0) || key == "rank_pattern" && (v != math.Trunc(v) || v > math.MaxInt32):
			return nil, fmt.Errorf("%s: %q is %v; it must be positive, and a rank an integer", key, name, v)
		}
		list = append(list, peftPattern{expr, v})
	}
	return list, nil
}

// of is the value for a matrix.
func of(list []peftPattern, matrix string, otherwise float64) float64 {
	for _, p := range list {
		found := false
		p.expr.Each(matrix, func([]int) bool { found = true; return false })
		if found {
			return p.value
		}
	}
	return otherwise
}

// even gives all matrices the rank and the scale of the adapter as a whole, the largest rank among them: zeros fill A
// and B, and B takes the ratio of the scales. Those of experts have a rank and a scale of their own.
func (p peftPatterns) even(a *PEFT) error {
	if len(p.rank)+len(p.alpha) == 0 {
		return nil
	}
	if p.config.RSLoRA {
		return errors.New("use_rslora with rank_pattern or alpha_pattern is not supported; merge the adapter into " +
			"its model with peft's merge_and_unload")
	}
	ranks := make([]int, len(a.Tensors))
	for i, t := range a.Tensors {
		ranks[i] = int(of(p.rank, matrixOf(t.Name), float64(p.config.Rank)))
		if at := 1 - factorAxis(t.Name); len(t.Shape) != 2 || t.Shape[at] != ranks[i] {
			return fmt.Errorf("tensor %s is %v, but rank_pattern says rank %d", t.Name, t.Shape, ranks[i])
		}
	}
	whole, experts := 0, 0
	for i, t := range a.Tensors {
		if ofExpert(t.Name) {
			experts = max(experts, ranks[i])
		} else {
			whole = max(whole, ranks[i])
		}
	}
	if whole == 0 {
		whole = experts
	}
	a.LoRA.Rank, a.LoRA.Alpha = whole, float64(whole)*p.config.Alpha/float64(p.config.Rank)
	if experts > 0 {
		a.LoRA.Alpha, a.experts.Rank, a.experts.Alpha = p.config.Alpha, experts, p.config.Alpha
	}
	for i, t := range a.Tensors {
		scale, to := of(p.alpha, matrixOf(t.Name), p.config.Alpha)/float64(ranks[i]), a.LoRA
		if ofExpert(t.Name) {
			to = a.experts
		}
		a.Tensors[i] = widen(t, ranks[i], to.Rank, scale/to.scale())
	}
	return nil
}

// factorAxis is the axis of A's inputs or B's outputs; the other one is the rank.
func factorAxis(name string) int {
	if isA(name) {
		return 1
	}
	return 0
}

// matrixOf is the name of the matrix that a factor belongs to, as PEFT matches it.
func matrixOf(name string) string {
	name = strings.TrimPrefix(name, PEFTPrefix)
	return name[:strings.LastIndex(name, ".lora_")]
}

// widen fills a factor of some rank to another one, and multiplies it by a scale if it is B.
func widen(t Tensor, rank, whole int, scale float64) Tensor {
	if isA(t.Name) {
		in := t.Shape[1]
		data := make([]float32, whole*in)
		copy(data, t.Data)
		return Tensor{t.Name, []int{whole, in}, data}
	}
	out := t.Shape[0]
	data := make([]float32, out*whole)
	for i := range out {
		for j := range rank {
			data[i*whole+j] = float32(float64(t.Data[i*rank+j]) * scale)
		}
	}
	return Tensor{t.Name, []int{out, whole}, data}
}
