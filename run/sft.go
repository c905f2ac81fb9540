package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/chat"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/dataset"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/trainer"
)

// fileSource reads supervised examples: each row is a conversation whose last answer is trained.
type fileSource struct {
	rows   *dataset.Source
	reader *dataset.Reader
	format dataset.Format
	model  *baseModel
	maxLen int // tokens; longer rows are cut
}

// buildFileSource opens the experience buffer of mode train, at the place where the job stopped.
func (b *job) buildFileSource(ctx context.Context, pos trainer.Position) (*fileSource, error) {
	eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
	if b.method.Schema != "sft" || eb.StorageType != "file" {
		return nil, fmt.Errorf("run: mode train reads %s examples from a file in this version; algorithm %s with storage_type %s is not in it", "sft", b.cfg.Algorithm.Type, eb.StorageType)
	}
	rows, err := b.openRows(ctx, eb.Path, eb.SubsetName, eb.Split)
	if err != nil {
		return nil, err
	}
	b.opened(rows.Close)
	plan := dataset.Plan{BatchSize: b.cfg.Buffer.TrainBatchSize, Epochs: b.cfg.Buffer.TotalEpochs, TotalSteps: b.steps}
	if eb.DataSelector != nil {
		plan.Selector, plan.Seed = eb.DataSelector.SelectorType, b.shuffleSeed(eb.DataSelector.Seed)
	}
	reader, err := dataset.NewReader(rows.Len(), plan)
	if err != nil {
		return nil, err
	}
	if err := reader.Restore(dataset.State{CurrentIndex: pos.Count}); err != nil {
		return nil, err
	}
	f := eb.Format
	format := dataset.Format{Section: "buffer.trainer_input.experience_buffer.format", PromptKey: f.PromptKey, ResponseKey: f.ResponseKey,
		SystemPrompt: f.SystemPrompt, SystemPromptKey: f.SystemPromptKey}
	if f.PromptType == config.Messages {
		format.MessagesKey = f.MessagesKey
	}
	if _, err := format.Messages(rows, 0); err != nil {
		return nil, err
	}
	s := &fileSource{rows: rows, reader: reader, format: format, model: b.model}
	if m := b.cfg.Model.MaxModelLen; m != nil {
		s.maxLen = *m
	}
	return s, nil
}

// Read implements trainer.Source.
func (s *fileSource) Read(_ context.Context, n int) ([]*experience.Experience, error) {
	items, err := s.reader.Next()
	if err != nil {
		return nil, err // io.EOF among them
	}
	if len(items) < n {
		return nil, io.EOF
	}
	list := make([]*experience.Experience, len(items))
	for i, it := range items {
		if list[i], err = s.example(it); err != nil {
			return nil, fmt.Errorf("%s: %w", s.rows.Place(it.Index), err)
		}
	}
	return list, nil
}

// example renders a row and marks the tokens of its last answer.
func (s *fileSource) example(it dataset.Item) (*experience.Experience, error) {
	rows, err := s.format.Messages(s.rows, it.Index)
	if err != nil {
		return nil, err
	}
	list := make([]chat.Message, len(rows))
	for i, m := range rows {
		list[i] = chat.Message{Role: m.Role, Content: m.Content}
	}
	o := chat.Options{EnableThinking: s.model.thinking}
	whole, err := s.model.template.Encode(s.model.tokenizer, list, o)
	if err != nil {
		return nil, err
	}
	o.AddGenerationPrompt = true
	prompt, err := s.model.template.Encode(s.model.tokenizer, list[:len(list)-1], o)
	if err != nil {
		return nil, err
	}
	if s.maxLen > 0 && len(whole) > s.maxLen {
		whole = whole[:s.maxLen]
	}
	if len(prompt) == 0 || len(prompt) >= len(whole) {
		return nil, errors.New("run: nothing of the answer is left to train within max_model_len; raise it or drop the row")
	}
	turn := experience.Turn{Prompt: prompt, Response: whole[len(prompt):]}
	e := turn.Experience(experience.EID{Batch: strconv.Itoa(it.Epoch), Task: strconv.Itoa(it.Index)})
	e.Logprobs = nil
	e.Info.TaskIndex = it.Index
	return e, nil
}

// Position implements trainer.Source.
func (s *fileSource) Position() trainer.Position {
	return trainer.Position{Count: s.reader.State().CurrentIndex}
}
