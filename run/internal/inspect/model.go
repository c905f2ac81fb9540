package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// absent turns the error of something that is named on the hub into one that is not known yet.
func (in *Inspection) absent(path string, err error) error {
	fetched := in.later || in.Hub != nil && modelname.OnHub(path)
	if _, here := os.Stat(in.Find(path)); err == nil || !fetched || here == nil {
		return err
	}
	return &notHere{err}
}

// mode refuses what does not go with the mode.
func (in *Inspection) mode() {
	cfg := in.Config
	eb := cfg.Buffer.TrainerInput.ExperienceBuffer
	const storage = "buffer.trainer_input.experience_buffer.storage_type"
	switch m := cfg.Mode; {
	case m == config.Train || m == config.Bench:
	case cfg.Model.RandomInit:
		in.add("model.random_init",
			errors.New("begins without a model to sample from; use it with mode train, and explore with what that "+
				"run saved"))
	case in.Beside() && (eb == nil || eb.StorageType == "queue"):
		in.add(storage, fmt.Errorf("mode %s hands its experiences to another process; set storage_type: sql "+
			"(or file, to keep them as JSON lines)", m))
	case m.Trains() && eb != nil && eb.StorageType == "file":
		in.add(storage, fmt.Errorf("is file, which is not for mode %s; use queue or sql", m))
	}
	if eb != nil {
		_, err := plan.Priority(eb, 0)
		in.add("buffer.trainer_input.experience_buffer.replay_buffer.priority_fn_args", err)
	}
}

// lookAtModel finds the model's folder, and reads tokenizer, template and shape. It reports whether the model is here
// and right.
func (in *Inspection) lookAtModel(ctx context.Context) bool {
	if in.Config.Model.ExternalModel.Enable {
		var err error
		in.External, in.Model, err = External(in.Job)
		return in.add("model.external_model.base_url_env", err)
	}
	key := "model.model_path"
	if in.Config.Model.Tinker.BaseModel != "" {
		key = "model.tinker.base_model"
	}
	m, err := service.FindModel(ctx, in.Job, nil)
	if err != nil && in.Backend.Kind != config.Local {
		err = &notHere{err} // the server may know its tokenizer
	}
	if !in.add(key, in.absent(in.Config.Model.BaseModel(), err)) {
		return false
	}
	in.Model, in.ID.Date = m, in.Dir.Began(in.Now())
	_, err = m.Configure(in.Config, in.ID.Date)
	good := in.add(templateKey(in.Config), err)
	if in.Backend.Kind == config.Local {
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

// lookAtShape reads what the local engine must know of the model, and of an adapter to begin with.
func (in *Inspection) lookAtShape(key string) bool {
	conf, err := engine.Describe(in.Model.Dir)
	if !in.add(key, err) {
		return false
	}
	if !in.Config.Model.RandomInit {
		in.add(key, weightsIn(in.Model.Dir))
	}
	if l := in.Config.LoRA(); l.Picked {
		in.add("model.lora_configs[0].target_modules", conf.CheckModules(l.Modules))
	}
	context := conf.Context
	in.Context = context
	switch n := in.Config.Model.MaxModelLen; {
	case n == nil || *n <= context:
	case in.Config.Given("model.max_model_len"):
		in.add("model.max_model_len", fmt.Errorf("is %d, and the context of %s is %d tokens (max_position_embeddings "+
			"of its config.json); lower it, and max_prompt_tokens and max_response_tokens with it",
			*n, in.Config.Model.BaseModel(), context))
	default:
		in.Notes.Add(fmt.Sprintf("max_prompt_tokens and max_response_tokens come to %d tokens, and the context of %s "+
			"is %d: a longer sequence ends there", *n, in.Config.Model.BaseModel(), context))
	}
	_, begun := os.Stat(filepath.Join(in.Dir.Path, "run.json")) // such a job has a copy of the adapter
	if from := in.Config.StartAdapter(); from != "" && begun != nil {
		a, err := engine.ReadAdapter(in.Find(from))
		if err == nil {
			err = service.CheckAdapter(a, in.Config, in.Model)
		}
		in.add("model.lora_configs[0].path", err)
	}
	return true
}

// weightsIn looks for the files of a model's weights.
func weightsIn(dir string) error {
	files, err := disk.Glob(dir, "*.safetensors")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the folder %s has no weights: neither model.safetensors nor model.safetensors.index.json "+
			"and its parts", dir)
	}
	return err
}

func (in *Inspection) lookAtTeacher(ctx context.Context) {
	if !in.Method.Needs().Teacher {
		return
	}
	path, err := service.TeacherPath(in.Config)
	if err == nil {
		in.Teacher, err = service.FindTeacher(ctx, in.Job)
		err = in.absent(path, err)
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
	judge, err := in.FindJudge(ctx, in.ID.Date)
	if !in.add("explorer.auxiliary_models[0].model_path", in.absent(judgePath(in.Config), err)) {
		return false
	}
	in.Judge = judge
	if in.Judge == nil || in.Backend.Kind != config.Local || in.Judge.Most == nil {
		return true
	}
	conf, err := engine.Describe(in.Judge.Model.Dir)
	if !in.add("explorer.auxiliary_models[0].model_path", err) {
		return false
	}
	if n := *in.Judge.Most; n >= conf.Context {
		return in.add("explorer.auxiliary_models[0].max_response_tokens",
			fmt.Errorf("is %d, and the context of %s is %d "+
				"tokens; lower it so that there is room for what the judge reads", n, in.Judge.Model.Name,
				conf.Context))
	}
	return true
}
