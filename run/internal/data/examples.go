package data

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// openExamples opens the data set of an experience buffer, key in the configuration, to be read as read says. schema is
// sft, dpo or cpt.
func openExamples(ctx context.Context, j *job.Job, eb *config.ExperienceBuffer, key string, read dataset.Plan,
	schema string) (*supervised.Examples, error) {
	pairs, plain := schema == "dpo", schema == "cpt"
	if plain {
		if err := plainText(eb, key); err != nil {
			return nil, err
		}
	}
	if eb.StorageType != "file" && eb.StorageType != "sql" {
		return nil, fmt.Errorf("run: %s.storage_type is %s; a data set to learn from is a file or a table, so write "+
			"storage_type: file or sql", key, eb.StorageType)
	}
	rows, err := openExampleRows(ctx, j, eb, schema)
	if err != nil {
		return nil, job.AtKey(key+".path", err)
	}
	j.Opened(rows.Close)
	if eb.DataSelector != nil {
		noteSelector(j, eb.DataSelector, key)
		read.Selector, read.Seed, read.Args = eb.DataSelector.SelectorType, eb.DataSelector.Seed, eb.DataSelector.Kwargs
		if keys := eb.DataSelector.FeatureKeys; len(keys) > 0 {
			if read.Features, err = rows.Numbers(keys); err != nil {
				return nil, job.AtKey(key+".data_selector.feature_keys", err)
			}
		}
	}
	reader, err := dataset.NewReader(rows.Len(), read)
	if err != nil {
		return nil, job.AtKey(key, job.AtArguments(key+".data_selector.kwargs", err))
	}
	f := exampleFormat(eb)
	s := &supervised.Examples{Rows: rows, Reader: reader, Pairs: pairs, Plain: plain, Warn: j.Warn,
		MaxTokens: plan.MaxTokens(j.Config, j.Context),
		Tokenizer: j.Model.Tokenizer, Template: j.Model.Template, Thinking: j.Model.Thinking,
		Format: dataset.Format{Section: key + ".format",
			PromptKey: f.PromptKey, ResponseKey: f.ResponseKey, SystemPrompt: f.SystemPrompt,
			SystemPromptKey: f.SystemPromptKey, ChosenKey: f.ChosenKey, RejectedKey: f.RejectedKey}}
	if plain {
		s.Format.ResponseKey = ""
		s.MaxTokens = j.Context // upstream cuts no text, so model.max_model_len does not
	}
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
	if j.Config.Given(key+".format.chat_template") && f.ChatTemplate != "" {
		if s.Template, err = j.Model.ReadTemplate(f.ChatTemplate, j.ID.Date); err != nil {
			return nil, job.AtKey(key+".format.chat_template", err)
		}
	}
	_, err = s.Row(dataset.Item{})
	return s, atColumn(key+".format", err)
}

// plainText refuses what is not a file of texts.
func plainText(eb *config.ExperienceBuffer, key string) error {
	if eb.StorageType != "file" {
		return job.AtKey(key+".storage_type", fmt.Errorf("is %s, and cpt reads texts from files; write "+
			"storage_type: file", eb.StorageType))
	}
	if eb.Format.PromptType != config.Plaintext {
		return job.AtKey(key+".format.prompt_type", fmt.Errorf("is %s, and cpt reads texts from one column; write "+
			"prompt_type: plaintext and name the column in prompt_key", eb.Format.PromptType))
	}
	return nil
}

// exampleFormat says what columns mean; the columns of a table have fixed names.
func exampleFormat(eb *config.ExperienceBuffer) config.Format {
	f := eb.Format
	if eb.StorageType == "sql" {
		f.PromptType, f.MessagesKey, f.ChosenKey, f.RejectedKey = config.Messages, buffer.MessagesColumn,
			buffer.ChosenColumn, buffer.RejectedColumn
	}
	return f
}

// Train opens the experience buffer of mode train, at the place where the job stopped. The buffer's epochs or steps say
// how much of it is read, and trainer.total_steps ends that earlier.
func Train(ctx context.Context, j *job.Job, pos buffer.Position) (buffer.DataSet, error) {
	if j.Method.Schema == "experience" {
		return buffer.DataSet{}, fmt.Errorf("run: mode train reads data sets of sft, dpo and cpt in this version; "+
			"algorithm %s trains on experiences, so use mode both", j.Config.Algorithm.Type)
	}
	b, most := j.Config.Buffer, plan.Value(j.Config.Trainer.TotalSteps)
	read := dataset.Plan{BatchSize: b.TrainBatchSize, Epochs: b.TotalEpochs, TotalSteps: plan.Value(b.TotalSteps),
		MaxSteps: most,
		Remedy:   "lower buffer.train_batch_size, raise buffer.total_epochs or give buffer.total_steps"}
	s, err := openExamples(ctx, j, j.Config.Buffer.TrainerInput.ExperienceBuffer,
		"buffer.trainer_input.experience_buffer", read, j.Method.Schema)
	if err != nil {
		return buffer.DataSet{}, err
	}
	if n := s.Reader.Steps(); n < most {
		j.Notes.Add(fmt.Sprintf("trainer.total_steps is %d, and training ends after %d steps, with the data; raise "+
			"buffer.total_epochs or give buffer.total_steps to train more", most, n))
	}
	return buffer.DataSet{Examples: s}, s.Reader.Restore(dataset.State{CurrentIndex: pos.Count})
}
