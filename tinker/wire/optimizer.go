package wire

import (
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Optimizer is optimizer_config: the optimizer of a model, which never changes. None is adamw.
type Optimizer struct {
	Type    string `json:"type"`
	Version *int   `json:"version,omitempty"` // of dimuon: 1
}

// Tinker converts to package tinker's name; none is "". An unknown optimizer is a User error.
func (o *Optimizer) Tinker() (string, error) {
	switch {
	case o == nil:
		return "", nil
	case o.Type == tinker.AdamW:
		return o.Type, nil
	case o.Type != tinker.Dimuon:
		return "", tinker.Userf("optimizer_config.type is %q; this server has %s and %s", o.Type, tinker.AdamW,
			tinker.Dimuon)
	case o.Version != nil && *o.Version != 1:
		return "", tinker.Userf("optimizer_config.version of dimuon is %d; this server has version 1", *o.Version)
	}
	return o.Type, nil
}

// FromOptimizer is the inverse of Tinker.
func FromOptimizer(kind string) *Optimizer {
	switch kind {
	case "":
		return nil
	case tinker.Dimuon:
		one := 1
		return &Optimizer{Type: kind, Version: &one}
	}
	return &Optimizer{Type: kind}
}

// optimParams is optimizer_params: the settings of one step of an optimizer that is not AdamW, named by its type.
type optimParams struct {
	Type         string   `json:"type"`
	LearningRate *float64 `json:"learning_rate,omitempty"` // required
	GradClipNorm *float64 `json:"grad_clip_norm,omitempty"`
	Beta1        *float64 `json:"beta1,omitempty"`
	Damping      *float64 `json:"damping,omitempty"`                     // sent by SDK 0.29 and 0.30
	RankExponent *float64 `json:"rank_lr_correction_exponent,omitempty"` // likewise
}

// Tinker fills defaults in.
func (p optimParams) Tinker() (*tinker.DimuonParams, error) {
	if p.Type != tinker.Dimuon {
		return nil, tinker.Userf("optimizer_params.type is %q; this server has %s there, and %s in adam_params",
			p.Type, tinker.Dimuon, tinker.AdamW)
	}
	if p.LearningRate == nil {
		return nil, tinker.Userf("optimizer_params of dimuon has no learning_rate")
	}
	d := tinker.DefaultDimuon()
	for _, v := range []struct{ from, to *float64 }{{p.LearningRate, &d.LearningRate}, {p.GradClipNorm,
		&d.GradClipNorm}, {p.Beta1, &d.Beta1},
		{p.Damping, &d.Damping}, {p.RankExponent, &d.RankExponent}} {
		if v.from != nil {
			*v.to = *v.from
		}
	}
	return &d, nil
}

// fromDimuon is the inverse of Tinker. Settings that the newest SDK lacks are left out if they have their defaults.
func fromDimuon(p tinker.DimuonParams) *optimParams {
	o := &optimParams{Type: tinker.Dimuon, LearningRate: &p.LearningRate, GradClipNorm: &p.GradClipNorm,
		Beta1: &p.Beta1}
	usual := tinker.DefaultDimuon()
	if p.Damping != usual.Damping {
		o.Damping = &p.Damping
	}
	if p.RankExponent != usual.RankExponent {
		o.RankExponent = &p.RankExponent
	}
	return o
}

// Tinker converts to package tinker's type. Exactly one of adam_params and optimizer_params must be set.
func (r OptimStepRequest) Tinker() (tinker.OptimStepRequest, error) {
	o := tinker.OptimStepRequest{SeqID: r.SeqID}
	switch {
	case r.Adam != nil && r.OptimizerParams != nil:
		return o,
			tinker.Userf("optim_step has both adam_params and optimizer_params; send the ones of the model's optimizer")
	case r.Adam == nil && r.OptimizerParams == nil:
		return o, tinker.Userf("optim_step has no adam_params and no optimizer_params; send the step's settings")
	case r.Adam != nil:
		o.Adam = r.Adam.Tinker()
		return o, nil
	}
	var err error
	o.Dimuon, err = r.OptimizerParams.Tinker()
	return o, err
}

// FromOptimStep is the inverse of Tinker.
func FromOptimStep(model string, seq int64, o tinker.OptimStepRequest) OptimStepRequest {
	r := OptimStepRequest{ModelID: model, SeqID: seq, Type: "optim_step"}
	if o.Dimuon != nil {
		r.OptimizerParams = fromDimuon(*o.Dimuon)
	} else {
		r.Adam = fromAdam(o.Adam)
	}
	return r
}
