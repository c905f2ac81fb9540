package config

import (
	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// deriveModel settles the trainer type, the chat template and the lengths.
func (c *Config) deriveModel() {
	m := &c.Model
	fillText(c, &m.CriticModelPath, "model.critic_model_path", m.ModelPath, "model.model_path")
	critic := recipe.All()[c.Algorithm.Type].Critic()
	if critic && m.CriticModelPath != m.ModelPath && c.given("model.critic_model_path") {
		c.note("model.critic_model_path is not used: the critic is a second adapter on the model that is trained")
	}
	for i := range m.LoRAConfigs {
		if l := &m.LoRAConfigs[i]; l.IsDummy {
			l.Path, l.IsDummy = "", false
			c.derive(document.Index("model.lora_configs", i)+".path", "is_dummy")
		}
	}
	if m.Tinker.Enable {
		c.deriveTinker()
	}
	if m.ChatTemplatePath != "" && m.CustomChatTemplate != "" {
		c.note("model.custom_chat_template is not used: model.chat_template_path is given too and wins")
		m.CustomChatTemplate = ""
		c.derive("model.custom_chat_template", "chat_template_path is given")
	}
	c.deriveLengths()
}

// deriveTinker makes the rest of the configuration agree with model.tinker.enable.
func (c *Config) deriveTinker() {
	t, tinker := &c.Trainer, &c.Model.Tinker
	if tinker.FullParam && tinker.Rank != 0 {
		tinker.Rank = 0
		c.derive("model.tinker.rank", "full_param")
	}
	if t.TrainerType != "tinker" {
		if c.given("trainer.trainer_type") {
			c.note("trainer.trainer_type %s was replaced by tinker: model.tinker.enable is true", t.TrainerType)
		}
		t.TrainerType = "tinker"
		c.derive("trainer.trainer_type", "model.tinker.enable")
	}
	if len(c.Model.LoRAConfigs) > 0 {
		c.note("model.lora_configs is ignored: model.tinker.enable is true, and model.tinker.rank and its train_* " +
			"flags count")
	}
	if t.TrainerConfig != nil {
		t.TrainerConfig = nil
		c.derive("trainer.trainer_config", "model.tinker.enable")
	}
}

// deriveLengths fills the lengths that are missing, in tokens: model = prompt + response; of a model length alone each
// gets half; of a model length and one part, the rest is the other. What cannot be filled is left for the checks.
func (c *Config) deriveLengths() {
	m := &c.Model
	total := value(c, m.MaxModelLen, "model.max_model_len")
	prompt := value(c, m.MaxPromptTokens, "model.max_prompt_tokens")
	response := value(c, m.MaxResponseTokens, "model.max_response_tokens")
	switch {
	case total == 0 && prompt > 0 && response > 0:
		fill(c, &m.MaxModelLen, "model.max_model_len", prompt+response, "max_prompt_tokens + max_response_tokens")
	case total < 2:
		return
	case prompt == 0 && response == 0:
		fill(c, &m.MaxPromptTokens, "model.max_prompt_tokens", total/2, "half of max_model_len")
		fill(c, &m.MaxResponseTokens, "model.max_response_tokens", total-total/2, "half of max_model_len")
	case prompt == 0:
		c.shorten(&m.MaxResponseTokens, "model.max_response_tokens", min(response, total-1))
		fill(c, &m.MaxPromptTokens, "model.max_prompt_tokens", total-*m.MaxResponseTokens,
			"max_model_len − max_response_tokens")
	case response == 0:
		c.shorten(&m.MaxPromptTokens, "model.max_prompt_tokens", min(prompt, total-1))
		fill(c, &m.MaxResponseTokens, "model.max_response_tokens", total-*m.MaxPromptTokens,
			"max_model_len − max_prompt_tokens")
	}
	if r := m.MaxResponseTokens; r != nil && m.MinResponseTokens > 0 && m.MinResponseTokens >= *r {
		least := max(*r-1, 0)
		c.note("model.min_response_tokens %d became %d, less than max_response_tokens", m.MinResponseTokens, least)
		m.MinResponseTokens = least
		c.derive("model.min_response_tokens", "less than max_response_tokens")
	}
}

// value returns the given length, or 0 if it is open.
func value(c *Config, v *int, key string) int {
	if v == nil || c.trace.origins[key].Kind == FromDerivation {
		return 0
	}
	return *v
}

// shorten replaces a given length that leaves no room for the other part.
func (c *Config) shorten(v **int, key string, most int) {
	if **v == most {
		return
	}
	c.note("%s %d became %d, so that max_model_len leaves room for the rest", key, **v, most)
	**v = most
}
