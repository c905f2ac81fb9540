package config

import (
	"os"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

func (k *checker) model() {
	c, m := k.c, &k.c.Model
	if m.BaseModel() == "" && !m.ExternalModel.Enable {
		k.bad("model.model_path", "is missing; name a local folder with config.json and weights, or a model of the "+
			"server")
	}
	k.sampling("model", m.Temperature, m.TopP, m.TopK)
	atLeast(k, "model.logprobs", m.Logprobs, 0)
	k.positive("model.repetition_penalty", m.RepetitionPenalty)
	if m.ChatTemplatePath != "" {
		if _, err := os.Stat(m.ChatTemplatePath); err != nil {
			k.bad("model.chat_template_path", "%s cannot be read: %s; correct the path or give custom_chat_template",
				document.Quote(m.ChatTemplatePath), reason(err))
		}
	}
	if !m.ExternalModel.Enable {
		return
	}
	if c.Mode != Bench {
		k.bad("model.external_model.enable", "is true, but the mode is %s; an external model can only be evaluated, "+
			"with mode: bench", c.Mode)
	}
	for _, need := range []struct{ key, value string }{
		{"model_name", m.ExternalModel.ModelName}, {"base_url_env", m.ExternalModel.BaseURLEnv},
		{"api_key_env", m.ExternalModel.APIKeyEnv},
	} {
		if need.value == "" {
			k.bad("model.external_model."+need.key, "is missing; an external model needs it")
		}
	}
}

// reason is why the system refused a file, without the path.
func reason(err error) string {
	if os.IsNotExist(err) {
		return "no such file"
	}
	if os.IsPermission(err) {
		return "permission denied"
	}
	return err.Error()
}

func (k *checker) sampling(section string, temperature, topP float64, topK int) {
	atLeast(k, section+".temperature", temperature, 0)
	if !(topP > 0 && topP <= 1) {
		k.bad(section+".top_p", "is %v; it must be above 0 and at most 1", topP)
	}
	if topK < -1 {
		k.bad(section+".top_k", "is %d; it must be -1 (all tokens) or more", topK)
	}
}

func (k *checker) lengths() {
	m := &k.c.Model
	if m.ExternalModel.Enable {
		return
	}
	missing := false
	for _, l := range []struct {
		key   string
		value *int
	}{
		{"model.max_model_len", m.MaxModelLen}, {"model.max_prompt_tokens", m.MaxPromptTokens},
		{"model.max_response_tokens", m.MaxResponseTokens},
	} {
		if l.value == nil {
			missing = true
			continue
		}
		atLeast(k, l.key, *l.value, 1)
	}
	if missing {
		k.missingLength()
		return
	}
	if sum := *m.MaxPromptTokens + *m.MaxResponseTokens; sum > *m.MaxModelLen {
		k.bad("model.max_model_len", "is %d, less than max_prompt_tokens %d + max_response_tokens %d = %d; raise it "+
			"or lower them, or leave it out", *m.MaxModelLen, *m.MaxPromptTokens, *m.MaxResponseTokens, sum)
	}
	atLeast(k, "model.min_response_tokens", m.MinResponseTokens, 0)
}

// missingLength reports lengths that could not be derived. SFT reads whole rows and needs only the longest sequence.
func (k *checker) missingLength() {
	m := &k.c.Model
	if m.MaxModelLen == nil {
		k.bad("model.max_model_len", "is missing and cannot be derived; give it, or both max_prompt_tokens and "+
			"max_response_tokens")
	} else if *m.MaxModelLen < 2 && *m.MaxModelLen > 0 {
		k.bad("model.max_model_len", "is %d; it must be at least 2, one token of prompt and one of response",
			*m.MaxModelLen)
	}
}

// baseDtype checks that frozen weights stay as they are.
func (k *checker) baseDtype() {
	switch dtype := k.c.Model.BaseDtype; {
	case !slices.Contains([]string{"", "bf16", "int8", "int4", "auto"}, dtype):
		k.bad("model.base_dtype", "is %s; use bf16, int8, int4 or auto", document.Quote(dtype))
	case (dtype == "int8" || dtype == "int4") && k.c.Mode.Trains() && k.c.LoRA().Rank == 0:
		k.bad("model.base_dtype", "is %s, which freezes the weights, and all weights are trained; train a LoRA "+
			"(model.lora_configs), or leave it out", dtype)
	}
}

// adapter checks the two ways to say what is trained.
func (k *checker) adapter() {
	m := &k.c.Model
	k.baseDtype()
	atLeast(k, "model.tinker.rank", m.Tinker.Rank, 0)
	if m.Tinker.ServerLoss != "" {
		k.oneOf("model.tinker.server_loss_fn", m.Tinker.ServerLoss, []string{"trinity_ppo"})
	}
	if m.Tinker.Enable {
		if m.Tinker.Rank > 0 && !m.Tinker.TrainMLP && !m.Tinker.TrainAttn && !m.Tinker.TrainUnembed {
			k.bad("model.tinker", "trains nothing: train_mlp, train_attn and train_unembed are all false; set one to "+
				"true")
		}
		return
	}
	if len(m.LoRAConfigs) > 1 {
		k.bad("model.lora_configs", "has %d entries; only one adapter is trained, keep one", len(m.LoRAConfigs))
	}
	for i, l := range m.LoRAConfigs {
		key := document.Index("model.lora_configs", i)
		atLeast(k, key+".lora_rank", l.LoRARank, 1)
		k.positive(key+".lora_alpha", l.LoRAAlpha)
		if len(l.parts().Modules) == 0 {
			k.bad(key+".target_modules", "less exclude_modules names nothing; choose all-linear, or linear layers "+
				"such as q_proj")
		}
	}
}
