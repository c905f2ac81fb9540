package trainer

// Coefs are the KL coefficients that the next step uses, of a method that adapts them; 0 for one that does not.
type Coefs struct {
	Loss    float64 `json:"loss,omitempty"`
	Penalty float64 `json:"penalty,omitempty"`
}

// recall sets the coefficients that the last committed step left.
func (t *Trainer) recall() {
	if c := t.state.KLCoefs; c != (Coefs{}) {
		t.Method.Objective.KL.Coef, t.Method.Penalty.Coef = c.Loss, c.Penalty
	}
}

// adapt steers the coefficients by what a step of n experiences measured.
func (t *Trainer) adapt(n int, metrics map[string]float64) {
	m := t.Method
	if kl, ok := metrics["actor/kl_loss"]; ok {
		m.Objective.KL = m.Objective.KL.Adapted(kl, n)
	}
	if kl, ok := metrics["advantage/kl"]; ok {
		m.Penalty = m.Penalty.Adapted(kl, n)
	}
}

// coefs returns the coefficients that must be kept.
func (t *Trainer) coefs() Coefs {
	m := t.Method
	if !m.Objective.KL.Adaptive() && !m.Penalty.Adaptive() {
		return Coefs{}
	}
	return Coefs{m.Objective.KL.Coef, m.Penalty.Coef}
}
