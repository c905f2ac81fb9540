package config

import "github.com/seed-d9ad8ee0/trinity/config/internal/document"

// refused names what this version does not do and would otherwise pass over in silence.
func (k *checker) refused() {
	m, e := &k.c.Model, &k.c.Explorer
	if len(m.RopeScaling) > 0 {
		k.bad("model.rope_scaling", "is given, but positions are those that the model's folder says; write it into "+
			"its config.json, as rope_scaling")
	}
	if m.RopeTheta != nil {
		k.bad("model.rope_theta", "is given, but positions are those that the model's folder says; write it into its "+
			"config.json, as rope_theta")
	}
	k.penalties("model", &m.RepetitionPenalty, &m.MinResponseTokens)
	k.penalties("explorer.rollout_model", e.RolloutModel.RepetitionPenalty, e.RolloutModel.MinResponseTokens)
	for i := range e.AuxiliaryModels {
		a, key := &e.AuxiliaryModels[i], document.Index("explorer.auxiliary_models", i)
		k.penalties(key, a.RepetitionPenalty, a.MinResponseTokens)
		k.inferenceRefused(key, a)
	}
	k.inferenceRefused("explorer.rollout_model", &e.RolloutModel)
	p := &k.c.DataProcessor.ExperiencePipeline
	if len(p.Inputs) > 0 {
		k.bad("data_processor.experience_pipeline.inputs",
			"is given, but operators see what was sampled and nothing else; leave it out")
	}
	if p.Output != nil {
		k.bad("data_processor.experience_pipeline.output",
			"is given, but experiences go to buffer.trainer_input.experience_buffer; say there where they go")
	}
}

// penalties wants sampling without what would make it another distribution than the one that is trained. Tinker's
// interface has neither, and upstream leaves them out there, which a note says.
func (k *checker) penalties(section string, repetition *float64, least *int) {
	const why = "but what is sampled here is the model's own distribution, as training sees it"
	report := k.bad
	if k.c.Model.Tinker.Enable {
		report = func(key, format string, args ...any) {
			k.c.note(key+" "+format+", on Tinker as in upstream", args...)
		}
	}
	if key := section + ".repetition_penalty"; repetition != nil && *repetition != 1 && k.c.given(key) {
		report(key, "is %v, "+why, *repetition)
	}
	if key := section + ".min_response_tokens"; least != nil && *least > 0 && k.c.given(key) {
		report(key, "is %d, "+why, *least)
	}
}

func (k *checker) inferenceRefused(key string, m *InferenceModel) {
	if m.IgnoreEOS {
		k.bad(key+".ignore_eos", "is true, but answers end where the model ends them; leave it out")
	}
	if m.EnableMultimodal {
		k.bad(key+".enable_multimodal", "is true, but the models here read text only; leave it out")
	}
}
