package training

import (
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/optim"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// optimizer is the state of a run's optimizer: of Dimuon if that is set, else of AdamW. A run never changes its
// optimizer.
type optimizer struct {
	adam   *optim.AdamW
	dimuon *optim.Dimuon
}

// checkOptimizer refuses an unknown optimizer and one that cannot train such a model. "" is AdamW.
func checkOptimizer(kind string, l tinker.LoRA) error {
	switch {
	case kind == "" || kind == tinker.AdamW:
		return nil
	case kind != tinker.Dimuon:
		return tinker.Userf("engine: optimizer %q is unknown; use %s or %s", kind, tinker.AdamW, tinker.Dimuon)
	case l.Rank == 0:
		return tinker.Userf("engine: dimuon trains LoRA matrices; train all weights (rank 0) with adamw")
	case l.Rank > optim.MaxDimuonRank:
		return tinker.Userf("engine: dimuon takes LoRA ranks up to %d, this one is %d; use a lower rank or adamw",
			optim.MaxDimuonRank, l.Rank)
	}
	return nil
}

// optimizerOf is the optimizer of a run that is made from the checkpoint m.
func optimizerOf(m checkpoint.Manifest, req tinker.CreateFromStateRequest) (string, error) {
	switch {
	case !req.Optimizer && req.OptimizerType == "":
		return tinker.AdamW, nil
	case !req.Optimizer:
		return req.OptimizerType, checkOptimizer(req.OptimizerType, m.LoRA)
	case req.OptimizerType != "" && req.OptimizerType != m.Kind():
		return "", tinker.Userf("engine: checkpoint %s has the state of %s; a run that restores it cannot have the "+
			"optimizer %s", req.Path, m.Kind(), req.OptimizerType)
	}
	return m.Kind(), checkOptimizer(m.Kind(), m.LoRA)
}

// newOptimizer is the state before the first step.
func newOptimizer(kind string, params []model.Tensor) optimizer {
	lengths := make([]int, len(params))
	for i, t := range params {
		lengths[i] = len(t.Data)
	}
	if kind == tinker.Dimuon {
		return optimizer{dimuon: optim.NewDimuon(lengths)}
	}
	return optimizer{adam: optim.New(lengths)}
}

// momentSets is the number of moments that an optimizer keeps for each tensor.
func momentSets(kind string) int {
	if kind == tinker.Dimuon {
		return 1
	}
	return 2
}

// restoredOptimizer takes the moments of all tensors, one set after the other: m, then v.
func restoredOptimizer(kind string, moments [][]float32, step int64) optimizer {
	if kind == tinker.Dimuon {
		return optimizer{dimuon: &optim.Dimuon{M: moments, Step: step}}
	}
	n := len(moments) / 2
	return optimizer{adam: &optim.AdamW{M: moments[:n:n], V: moments[n:], Step: step}}
}

func (o optimizer) kind() string {
	if o.dimuon != nil {
		return tinker.Dimuon
	}
	return tinker.AdamW
}

// noted is the kind as it is written to files: AdamW is "", since older versions had no other optimizer.
func (o optimizer) noted() string { return noted(o.kind()) }

func noted(kind string) string {
	if kind == tinker.AdamW {
		return ""
	}
	return kind
}

func (o optimizer) steps() int64 {
	if o.dimuon != nil {
		return o.dimuon.Step
	}
	return o.adam.Step
}

// moments returns the moments in the order that restoredOptimizer takes.
func (o optimizer) moments() [][]float32 {
	if o.dimuon != nil {
		return o.dimuon.M
	}
	return append(append([][]float32(nil), o.adam.M...), o.adam.V...)
}

// tensors returns the moments as a checkpoint stores them.
func (o optimizer) tensors(params []model.Tensor) []model.Tensor {
	if o.dimuon != nil {
		return moments("m.", params, o.dimuon.M)
	}
	return append(moments("m.", params, o.adam.M), moments("v.", params, o.adam.V)...)
}

// update runs the optimizer's step with the settings of the request.
func (r *Run) update(req tinker.OptimStepRequest) (norm float64, err error) {
	params, grads, par := slicesOf(r.Params), slicesOf(r.Grads.T), r.t.Loop.Parallel
	if r.opt.dimuon == nil {
		return r.opt.adam.Update(params, grads, req.Adam, par)
	}
	pairs, err := loraPairs(r.Params)
	if err != nil {
		return 0, err
	}
	return r.opt.dimuon.Update(params, grads, pairs, *req.Dimuon, r.t.Loop.ParallelFew)
}

// fitsOptimizer refuses settings of another optimizer; the gradient stays.
func (r *Run) fitsOptimizer(req tinker.OptimStepRequest) error {
	asked := tinker.AdamW
	if req.Dimuon != nil {
		asked = tinker.Dimuon
	}
	if kind := r.opt.kind(); asked != kind {
		return tinker.Userf("engine: the optim_step has settings of %s, model %s has the optimizer %s, which was "+
			"chosen when the model was made; send settings of %s, or make a model with %s", asked, r.id, kind, kind,
			asked)
	}
	return nil
}

// loraPairs finds the two matrices of each adapter.
func loraPairs(params []model.Tensor) ([]optim.Pair, error) {
	const suffixA, suffixB = ".lora_A.weight", ".lora_B.weight"
	at := map[string]int{}
	for i, t := range params {
		at[t.Name] = i
	}
	var pairs []optim.Pair
	for i, t := range params {
		name, ok := strings.CutSuffix(t.Name, suffixA)
		if !ok {
			continue
		}
		j, ok := at[name+suffixB]
		if !ok || len(t.Shape) != 2 || len(params[j].Shape) != 2 || params[j].Shape[1] != t.Shape[0] {
			return nil, fmt.Errorf("engine: %s has no matching %s%s", t.Name, name, suffixB)
		}
		pairs = append(pairs, optim.Pair{A: i, B: j, Rank: t.Shape[0], In: t.Shape[1], Out: params[j].Shape[0]})
	}
	if 2*len(pairs) != len(params) {
		return nil, fmt.Errorf("engine: %d parameters are not %d pairs of LoRA matrices", len(params), len(pairs))
	}
	return pairs, nil
}

func slicesOf(t []model.Tensor) [][]float32 {
	s := make([][]float32, len(t))
	for i := range t {
		s[i] = t[i].Data
	}
	return s
}

// moments names the optimizer's slices by a prefix and their parameters' names.
func moments(prefix string, params []model.Tensor, data [][]float32) []model.Tensor {
	out := make([]model.Tensor, len(params))
	for i, t := range params {
		out[i] = model.Tensor{Name: prefix + t.Name, Shape: t.Shape, Data: data[i]}
	}
	return out
}
