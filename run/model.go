package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// baseModel is the model folder as text and tokens see it.
type baseModel struct {
	name      string
	dir       string
	tokenizer *tokenizer.Tokenizer
	template  *chat.Template
	thinking  *bool
	stops     []int32 // to be named in requests; nil when the service knows them
}

// buildModel finds the model folder and reads its tokenizer. On a server the weights are the server's, and the
// tokenizer's files will do.
func (b *job) buildModel(ctx context.Context) error {
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	name := b.cfg.Model.BaseModel()
	find := b.tokenizerFolder
	if b.backend.Kind == config.Local {
		find = func(ctx context.Context) (string, error) { return FindModel(ctx, name, b.Find, b.Hub) }
	}
	dir, err := find(ctx)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	tok := b.seen.tokenizer(abs)
	if tok == nil {
		if tok, err = tokenizer.Load(abs); err != nil {
			return err
		}
	}
	// model.enable_thinking where that is open
	b.model = &baseModel{name: name, dir: abs, tokenizer: tok, thinking: b.cfg.Explorer.RolloutModel.EnableThinking}
	return nil
}

// buildDir makes the job directory, draws or reads the job's identity, and reads the template, which may ask for the
// date.
func (b *job) buildDir(ctx context.Context) error {
	if err := b.folder().Make(); err != nil {
		return err
	}
	if err := b.lock(ctx, jobdir.Roles(b.cfg)...); err != nil {
		return err
	}
	if err := b.openIdentity(); err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(b.model.dir)
	if err != nil {
		return err
	}
	text, err := b.templateText(conf)
	if err != nil {
		return err
	}
	if b.model.template, err = chat.New(text, conf, b.identity.Date); err != nil {
		return err
	}
	if err := b.keepTemplate(text); err != nil {
		return err
	}
	b.model.stops, err = b.serverStops(conf)
	return err
}

// templateText is the chat template to use: chat_template_path, else rollout_model.chat_template or
// custom_chat_template, else the model's own.
func (b *job) templateText(conf *tokenizer.Config) (string, error) {
	m := b.cfg.Model
	switch {
	case m.ChatTemplatePath != "":
		text, err := disk.ReadFile(m.ChatTemplatePath, disk.SmallFile)
		if err != nil {
			return "", fmt.Errorf("run: model.chat_template_path: %w", err)
		}
		return string(text), nil
	case b.cfg.Explorer.RolloutModel.ChatTemplate != "": // custom_chat_template where that is open
		return b.cfg.Explorer.RolloutModel.ChatTemplate, nil
	}
	return conf.ChatTemplate, nil
}

// readTemplate reads a chat template for the model's tokenizer.
func (b *job) readTemplate(text string) (*chat.Template, error) {
	conf, err := tokenizer.LoadConfig(b.model.dir)
	if err != nil {
		return nil, err
	}
	return chat.New(text, conf, b.identity.Date)
}

// Prompt implements workflow.Renderer.
func (m *baseModel) Prompt(messages []chat.Message) (string, []int32, error) {
	o := chat.Options{AddGenerationPrompt: true, EnableThinking: m.thinking}
	if messages[len(messages)-1].Role == "assistant" {
		o.AddGenerationPrompt, o.ContinueFinal = false, true
	}
	text, err := m.template.Render(messages, o)
	if err != nil {
		return "", nil, err
	}
	return text, m.tokenizer.Encode(text, false), nil
}

// Encode implements workflow.Renderer.
func (m *baseModel) Encode(text string) ([]int32, error) { return m.tokenizer.Encode(text, false), nil }

// Decode implements workflow.Renderer.
func (m *baseModel) Decode(tokens []int32) string { return m.tokenizer.Decode(tokens, true) }

// buildService opens what trains and samples.
func (b *job) buildService(ctx context.Context) (err error) {
	if err := b.openProgress(); err != nil {
		return err
	}
	switch {
	case b.fleeting != nil:
		b.service, err = b.fleeting(b)
	case b.backend.Kind == config.Local:
		err = b.openEngine(ctx)
	default:
		err = b.openServer(ctx)
	}
	if err == nil && b.Wrap != nil {
		b.service = b.Wrap(b.service)
	}
	return err
}

// vocabulary is how many token ids the model has: those of its configuration, which may reserve some behind the
// tokenizer's, if that is here.
func (b *job) vocabulary() int {
	if c, err := engine.Describe(b.model.dir); err == nil {
		return c.Vocab
	}
	return b.model.tokenizer.VocabSize()
}

// engineOptions are those of the local engine on the run's model.
func (b *job) engineOptions() (engine.Options, error) {
	seed := b.identity.Seed
	var ends []int32
	var err error
	if b.model.template != nil { // a base model may have none
		ends, err = b.model.template.StopIDs(b.model.tokenizer)
	}
	models := map[string]engine.Model{b.model.name: {Dir: b.model.dir, Tokens: b.model.tokenizer, EndTokens: ends}}
	maps.Copy(models, b.teacher.served)
	maps.Copy(models, b.judge.served())
	return engine.Options{
		Dir: filepath.Join(b.dir, "tinker", "checkpoints"), Models: models,
		Threads: b.Threads, Seed: &seed, FS: b.fs,
	}, err
}

// openEngine opens the engine on the model and the journal around it.
func (b *job) openEngine(ctx context.Context) error {
	o, err := b.engineOptions()
	if err != nil {
		return err
	}
	if err := b.folder().ImportState(b.stage); err != nil {
		return err
	}
	alone := !b.aside() && b.cfg.Mode != config.Bench // the journal of the job is the trainer's; sampling keeps nothing
	o.Beside = !alone
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	if err := b.importAdapter(e); err != nil {
		return errors.Join(err, e.Close())
	}
	if !alone {
		b.opened(e.Close)
		b.engine, b.service = e, e
		return nil
	}
	j, err := journal.Open(ctx, filepath.Join(b.dir, "tinker", "journal"), e, journal.Options{
		FS: b.fs, Warn: func(msg string) { fmt.Fprintln(b.Out, "warning:", msg) },
	})
	if err != nil {
		e.Close()
		return err
	}
	b.opened(j.Close)
	b.engine, b.service = e, j
	return nil
}

// someModules returns the linear layers that a configuration picks out of their groups, "" where the flags say it all.
func someModules(l config.LoRA) string {
	n := 0
	for _, g := range []struct {
		on   bool
		size int
	}{{l.TrainAttn, 4}, {l.TrainMLP, 3}, {l.TrainUnembed, 1}} {
		if g.on {
			n += g.size
		}
	}
	if l.Rank == 0 || len(l.Modules) == n {
		return ""
	}
	return strings.Join(l.Modules, ",")
}

// createRequest is the model that the run trains.
func (b *job) createRequest() tinker.CreateModelRequest {
	l := b.cfg.LoRA()
	stream := rng.New(b.identity.Seed).Stream("adapter")
	seed := int64(stream.Uint64() >> 1)
	session := b.identity.Session
	if !b.durable() {
		session = "" // there is no coming back to this process's model
	}
	return tinker.CreateModelRequest{
		SessionID: session, BaseModel: b.model.name, RandomInit: b.cfg.Model.RandomInit,
		LoRA: tinker.LoRA{Rank: l.Rank, Alpha: l.Alpha, Seed: &seed, TrainAttn: l.TrainAttn, TrainMLP: l.TrainMLP,
			TrainUnembed: l.TrainUnembed, Modules: someModules(l)},
	}
}
