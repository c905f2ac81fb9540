package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
)

// openExamples opens the data set of an experience buffer, key in the configuration, to be read as plan says.
func (b *job) openExamples(ctx context.Context, eb *config.ExperienceBuffer, key string, plan dataset.Plan,
	pairs bool) (*supervised.Examples, error) {
	if eb.StorageType != "file" && eb.StorageType != "sql" {
		return nil, fmt.Errorf("run: %s.storage_type is %s; a data set to learn from is a file or a table, so write "+
			"storage_type: file or sql", key, eb.StorageType)
	}
	schema := "sft"
	if pairs {
		schema = "dpo"
	}
	rows, err := b.openExampleRows(ctx, eb, schema)
	if err != nil {
		return nil, at(key+".path", err)
	}
	b.opened(rows.Close)
	if eb.DataSelector != nil {
		plan.Selector, plan.Seed, plan.Args = eb.DataSelector.SelectorType, eb.DataSelector.Seed, eb.DataSelector.Kwargs
		if keys := eb.DataSelector.FeatureKeys; len(keys) > 0 {
			if plan.Features, err = rows.Numbers(keys); err != nil {
				return nil, at(key+".data_selector.feature_keys", err)
			}
		}
	}
	reader, err := dataset.NewReader(rows.Len(), plan)
	if err != nil {
		return nil, at(key, atArgs(key+".data_selector.kwargs", err))
	}
	f := exampleFormat(eb)
	s := &supervised.Examples{Rows: rows, Reader: reader, Pairs: pairs, Warn: b.warn, MaxTokens: b.mostTokens(),
		Tokenizer: b.model.tokenizer, Template: b.model.template, Thinking: b.model.thinking,
		Format: dataset.Format{Section: key + ".format",
			PromptKey: f.PromptKey, ResponseKey: f.ResponseKey, SystemPrompt: f.SystemPrompt,
			SystemPromptKey: f.SystemPromptKey, ChosenKey: f.ChosenKey, RejectedKey: f.RejectedKey}}
	if f.PromptType == config.Messages {
		s.Format.MessagesKey, s.Turns = f.MessagesKey, f.ConcatenatedTurn
	}
	if f.PromptType == config.Messages || !pairs {
		s.ToolsKey = f.ToolsKey
	}
	if err := textOnly(f, key); err != nil {
		return nil, err
	}
	if f.EnableThinking != nil {
		s.Thinking = f.EnableThinking
	}
	if b.cfg.Given(key+".format.chat_template") && f.ChatTemplate != "" {
		if s.Template, err = b.readTemplate(f.ChatTemplate); err != nil {
			return nil, at(key+".format.chat_template", err)
		}
	}
	_, err = s.Row(dataset.Item{})
	return s, err
}

// exampleFormat is which columns mean what; those of a table have fixed names.
func exampleFormat(eb *config.ExperienceBuffer) config.Format {
	f := eb.Format
	if eb.StorageType == "sql" {
		f.PromptType, f.MessagesKey, f.ChosenKey, f.RejectedKey = config.Messages, buffer.MessagesColumn,
			buffer.ChosenColumn, buffer.RejectedColumn
	}
	return f
}

// buildFileSource opens the experience buffer of mode train, at the place where the job stopped.
func (b *job) buildFileSource(ctx context.Context, pos buffer.Position, steps int) (buffer.DataSet, error) {
	if b.method.Schema == "experience" {
		return buffer.DataSet{}, fmt.Errorf("run: mode train reads data sets of sft and dpo in this version; "+
			"algorithm %s trains on experiences, so use mode both", b.cfg.Algorithm.Type)
	}
	plan := dataset.Plan{BatchSize: b.cfg.Buffer.TrainBatchSize, Epochs: b.cfg.Buffer.TotalEpochs, TotalSteps: steps}
	s, err := b.openExamples(ctx, b.cfg.Buffer.TrainerInput.ExperienceBuffer, "buffer.trainer_input.experience_buffer",
		plan, b.method.Schema == "dpo")
	if err != nil {
		return buffer.DataSet{}, err
	}
	return buffer.DataSet{Examples: s}, s.Reader.Restore(dataset.State{CurrentIndex: pos.Count})
}
