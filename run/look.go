package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// absent turns the error of something that a name on the hub stands for into one that is not known yet.
func (in *Inspection) absent(path string, err error) error {
	fetched := in.later || in.job.Hub != nil && hub.IsName(path)
	if _, here := os.Stat(in.job.Find(path)); err == nil || !fetched || here == nil {
		return err
	}
	return &notHere{err}
}

// mode refuses what does not go with the mode.
func (in *Inspection) mode() {
	cfg := in.job.cfg
	eb := cfg.Buffer.TrainerInput.ExperienceBuffer
	const storage = "buffer.trainer_input.experience_buffer.storage_type"
	switch m := cfg.Mode; {
	case m == config.Train || m == config.Bench:
	case cfg.Model.RandomInit:
		in.add("model.random_init",
			errors.New("begins without a model to sample from; use it with mode train, and explore with what that "+
				"run saved"))
	case in.job.aside() && (eb == nil || eb.StorageType == "queue"):
		in.add(storage, fmt.Errorf("mode %s hands its experiences to another process; set storage_type: sql "+
			"(or file, to keep them as JSON lines)", m))
	case m.Trains() && eb != nil && eb.StorageType == "file":
		in.add(storage, fmt.Errorf("is file, which is not for mode %s; use queue or sql", m))
	}
	if eb != nil {
		_, err := priorityOf(eb, in.job.identity.Seed)
		in.add("buffer.trainer_input.experience_buffer.replay_buffer.priority_fn_args", err)
	}
}

// lookAtModel finds the model's folder, and reads tokenizer, template and shape. It reports whether the model is here
// and right.
func (in *Inspection) lookAtModel(ctx context.Context) bool {
	b := in.job
	if b.cfg.Model.ExternalModel.Enable {
		return in.add("model.external_model.base_url_env", b.reachExternal())
	}
	key := "model.model_path"
	if b.cfg.Model.Tinker.BaseModel != "" {
		key = "model.tinker.base_model"
	}
	err := b.buildModel(ctx)
	if err != nil && b.backend.Kind != config.Local {
		err = &notHere{err} // the server may know its tokenizer
	}
	if !in.add(key, in.absent(b.cfg.Model.BaseModel(), err)) {
		return false
	}
	b.identity.Date = b.folder().Began(b.Now())
	good := in.add(templateKey(b.cfg), b.setTemplate())
	if b.backend.Kind == config.Local {
		good = in.lookAtShape(key) && good
	}
	return good
}

func templateKey(cfg *config.Config) string {
	switch {
	case cfg.Model.ChatTemplatePath != "":
		return "model.chat_template_path"
	case cfg.Given("explorer.rollout_model.chat_template"):
		return "explorer.rollout_model.chat_template"
	}
	return "model.custom_chat_template"
}

// tokenizer is that of the model folder dir, if it has been read; else nil.
func (in *Inspection) tokenizer(dir string) *tokenizer.Tokenizer {
	if in == nil || in.job.model == nil || in.job.model.dir != dir {
		return nil
	}
	return in.job.model.tokenizer
}

// setTemplate makes the chat template.
func (b *job) setTemplate() error {
	conf, err := tokenizer.LoadConfig(b.model.dir)
	if err != nil {
		return err
	}
	text, err := b.templateText(conf)
	if err != nil {
		return err
	}
	b.model.template, err = chat.New(text, conf, b.identity.Date)
	return err
}

// lookAtShape reads what the local engine must know of the model, and of an adapter to begin with.
func (in *Inspection) lookAtShape(key string) bool {
	b := in.job
	conf, err := engine.Describe(b.model.dir)
	if !in.add(key, err) {
		return false
	}
	if !b.cfg.Model.RandomInit {
		in.add(key, weightsIn(b.model.dir))
	}
	context := conf.Context
	b.context = context
	switch n := b.cfg.Model.MaxModelLen; {
	case n == nil || *n <= context:
	case b.cfg.Given("model.max_model_len"):
		in.add("model.max_model_len", fmt.Errorf("is %d, and the context of %s is %d tokens (max_position_embeddings "+
			"of its "+
			"config.json); lower it, and max_prompt_tokens and max_response_tokens with it",
			*n, b.cfg.Model.BaseModel(), context))
	default:
		b.noteOnce("max_prompt_tokens and max_response_tokens come to %d tokens, and the context of %s is %d: "+
			"a longer sequence ends there", *n, b.cfg.Model.BaseModel(), context)
	}
	_, begun := os.Stat(filepath.Join(b.dir, "run.json")) // such a job has a copy of the adapter
	if from := b.cfg.StartAdapter(); from != "" && begun != nil {
		a, err := engine.ReadAdapter(b.Find(from))
		if err == nil {
			err = b.checkAdapter(a)
		}
		in.add("model.lora_configs[0].path", err)
	}
	return true
}

// weightsIn looks for the files of a model's weights.
func weightsIn(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the folder %s has no weights: neither model.safetensors nor model.safetensors.index.json "+
			"and its parts", dir)
	}
	return err
}

func (in *Inspection) lookAtTeacher(ctx context.Context) {
	b := in.job
	if !b.method.Needs().Teacher {
		return
	}
	path, err := teacherPath(b.cfg)
	if err == nil {
		err = in.absent(path, b.buildTeacher(ctx))
	}
	in.add("explorer.auxiliary_models", err)
}

func judgePath(cfg *config.Config) string {
	if len(cfg.Explorer.AuxiliaryModels) == 0 {
		return ""
	}
	return cfg.Explorer.AuxiliaryModels[0].ModelPath
}

// lookAtJudge builds the judge, and refuses answers longer than its model's context.
func (in *Inspection) lookAtJudge(ctx context.Context) bool {
	b := in.job
	if !in.add("explorer.auxiliary_models[0].model_path", in.absent(judgePath(b.cfg), b.buildJudge(ctx))) {
		return false
	}
	if b.judge == nil || b.backend.Kind != config.Local || b.judge.conf.MaxResponseTokens == nil {
		return true
	}
	conf, err := engine.Describe(b.judge.model.dir)
	if !in.add("explorer.auxiliary_models[0].model_path", err) {
		return false
	}
	if n := *b.judge.conf.MaxResponseTokens; n >= conf.Context {
		return in.add("explorer.auxiliary_models[0].max_response_tokens",
			fmt.Errorf("is %d, and the context of %s is %d "+
				"tokens; lower it so that there is room for what the judge reads", n, b.judge.model.name, conf.Context))
	}
	return true
}
