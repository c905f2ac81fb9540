package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// examples reads a data set to learn from: conversations whose last answer is trained, or pairs of answers.
type examples struct {
	rows   *dataset.Source
	reader *dataset.Reader
	format dataset.Format
	model  *baseModel
	maxLen int  // tokens; longer rows are cut; 0: not known
	pairs  bool // each row is two experiences: chosen, rejected
	turns  bool // every answer of a conversation is trained, not the last alone

	template *chat.Template // format.chat_template, or the model's
	thinking *bool          // format.enable_thinking, or the model's

	toolsKey string // the column of the tools at hand

	warn func(string)
}

// openExamples opens the data set of an experience buffer, key in the configuration, to be read as plan says.
func (b *job) openExamples(ctx context.Context, eb *config.ExperienceBuffer, key string, plan dataset.Plan, pairs bool) (*examples, error) {
	if eb.StorageType != "file" && eb.StorageType != "sql" {
		return nil, fmt.Errorf("run: %s.storage_type is %s; a data set to learn from is a file or a table, so write storage_type: file or sql", key, eb.StorageType)
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
	s := &examples{rows: rows, reader: reader, model: b.model, pairs: pairs, warn: b.warn,
		format: dataset.Format{Section: key + ".format",
			PromptKey: f.PromptKey, ResponseKey: f.ResponseKey, SystemPrompt: f.SystemPrompt, SystemPromptKey: f.SystemPromptKey,
			ChosenKey: f.ChosenKey, RejectedKey: f.RejectedKey}}
	if f.PromptType == config.Messages {
		s.format.MessagesKey, s.turns = f.MessagesKey, f.ConcatenatedTurn
	}
	if f.PromptType == config.Messages || !pairs {
		s.toolsKey = f.ToolsKey
	}
	if err := textOnly(f, key); err != nil {
		return nil, err
	}
	s.maxLen = b.mostTokens()
	s.template, s.thinking = b.model.template, b.model.thinking
	if f.EnableThinking != nil {
		s.thinking = f.EnableThinking
	}
	if b.cfg.Given(key+".format.chat_template") && f.ChatTemplate != "" {
		if s.template, err = b.readTemplate(f.ChatTemplate); err != nil {
			return nil, at(key+".format.chat_template", err)
		}
	}
	_, err = s.row(dataset.Item{})
	return s, err
}

// exampleFormat is which columns mean what; those of a table have fixed names.
func exampleFormat(eb *config.ExperienceBuffer) config.Format {
	f := eb.Format
	if eb.StorageType == "sql" {
		f.PromptType, f.MessagesKey, f.ChosenKey, f.RejectedKey = config.Messages, buffer.MessagesColumn, buffer.ChosenColumn, buffer.RejectedColumn
	}
	return f
}

// next returns the experiences of the next batch of rows, or io.EOF.
func (s *examples) next() ([]*experience.Experience, error) {
	items, err := s.reader.Next()
	if err != nil {
		return nil, err // io.EOF among them
	}
	var list []*experience.Experience
	for _, it := range items {
		row, err := s.row(it)
		if err != nil {
			return nil, err
		}
		list = append(list, row...)
	}
	return list, nil
}

// row makes experiences of a row: one, or a pair.
func (s *examples) row(it dataset.Item) ([]*experience.Experience, error) {
	var sides [][]chat.Message
	if s.pairs {
		p, err := s.format.Pair(s.rows, it.Index)
		if err != nil {
			return nil, err
		}
		sides = [][]chat.Message{slices.Concat(p.Prompt, p.Chosen), slices.Concat(p.Prompt, p.Rejected)}
	} else {
		m, err := s.format.Messages(s.rows, it.Index)
		if err != nil {
			return nil, err
		}
		sides = [][]chat.Message{m}
	}
	var list []*experience.Experience
	for run, side := range sides {
		id := experience.EID{Batch: strconv.Itoa(it.Epoch), Task: strconv.Itoa(it.Index), Run: run}
		e, err := s.example(id, it.Index, side)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.rows.Place(it.Index), err)
		}
		e.Logprobs = nil // nobody sampled it
		e.Info.TaskIndex = it.Index
		list = append(list, e)
	}
	if s.pairs && (masked(list[0]) || masked(list[1])) { // half a pair prefers nothing
		clear(list[0].ActionMask)
		clear(list[1].ActionMask)
	}
	return list, nil
}

func masked(e *experience.Experience) bool { return e.TruncateStatus == experience.PromptTruncated }

// example makes an experience of a conversation: its last message is the response, or every answer in it is trained
// (format.enable_concatenated_multi_turn).
func (s *examples) example(id experience.EID, index int, list []chat.Message) (*experience.Experience, error) {
	o := chat.Options{EnableThinking: s.thinking}
	var err error
	if o.Tools, err = s.tools(index); err != nil {
		return nil, err
	}
	if !s.turns {
		return s.lastTurn(id, index, list, o)
	}
	c, err := s.template.Conversation(s.model.tokenizer, list, o)
	if err != nil {
		return nil, err
	}
	if c.PromptLength == 0 {
		return nil, errors.New("run: the row has no answer to train; drop it")
	}
	n := s.most(len(c.Tokens))
	if c.PromptLength >= n {
		return s.tooLong(id, index, c.Tokens[:n]), nil
	}
	e := experience.Turn{Prompt: c.Tokens[:c.PromptLength], Response: c.Tokens[c.PromptLength:n]}.Experience(id)
	copy(e.ActionMask, c.Mask[c.PromptLength:n])
	return e, nil
}

// tools are those that a row's conversation has at hand: a list, or a list written as JSON text.
func (s *examples) tools(index int) (jinja.List, error) {
	if s.toolsKey == "" {
		return nil, nil
	}
	row, err := s.rows.Row(index)
	if err != nil {
		return nil, err
	}
	v, ok := row.Get(s.toolsKey)
	if !ok || v == nil {
		return nil, nil
	}
	text, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	if text == "" {
		return nil, nil
	}
	decoded, err := jinja.DecodeJSON([]byte(text))
	list, ok := decoded.(jinja.List)
	if err != nil || !ok {
		return nil, fmt.Errorf("column %q must be a list of tools: %.80s", s.toolsKey, text)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// lastTurn makes an experience of a conversation whose last message is the response.
func (s *examples) lastTurn(id experience.EID, index int, list []chat.Message,
	o chat.Options) (*experience.Experience, error) {
	whole, err := s.template.Encode(s.model.tokenizer, list, o)
	if err != nil {
		return nil, err
	}
	o.AddGenerationPrompt = true
	prompt, err := s.template.Encode(s.model.tokenizer, list[:len(list)-1], o)
	if err != nil {
		return nil, err
	}
	if len(prompt) == 0 || len(prompt) >= len(whole) {
		return nil, errors.New("run: the row has no prompt, or no answer behind it; drop it")
	}
	if whole = whole[:s.most(len(whole))]; len(prompt) >= len(whole) {
		return s.tooLong(id, index, whole), nil
	}
	return experience.Turn{Prompt: prompt, Response: whole[len(prompt):]}.Experience(id), nil
}

// most is how many of n tokens are read.
func (s *examples) most(n int) int {
	if s.maxLen > 0 {
		n = min(n, s.maxLen)
	}
	return n
}

// tooLong stands for a row whose answer lies behind the tokens that are read: nothing of it is trained, and it
// is counted.
func (s *examples) tooLong(id experience.EID, index int, tokens []int32) *experience.Experience {
	s.warn(fmt.Sprintf("%s: nothing of the answer is left within %d tokens (model.max_model_len, or the model's context); "+
		"the row trains nothing", s.rows.Place(index), len(tokens)))
	last := len(tokens) - 1
	return experience.Turn{Prompt: tokens[:last], Response: tokens[last:],
		Stop: experience.StopPromptTruncated}.Experience(id)
}

// fileSource is the trainer's end of a data set, in mode train.
type fileSource struct{ *examples }

// buildFileSource opens the experience buffer of mode train, at the place where the job stopped.
func (b *job) buildFileSource(ctx context.Context, pos trainer.Position) (fileSource, error) {
	if b.method.Schema == "experience" {
		return fileSource{}, fmt.Errorf("run: mode train reads data sets of sft and dpo in this version; algorithm %s trains on experiences, so use mode both", b.cfg.Algorithm.Type)
	}
	plan := dataset.Plan{BatchSize: b.cfg.Buffer.TrainBatchSize, Epochs: b.cfg.Buffer.TotalEpochs, TotalSteps: b.steps}
	s, err := b.openExamples(ctx, b.cfg.Buffer.TrainerInput.ExperienceBuffer, "buffer.trainer_input.experience_buffer", plan, b.method.Schema == "dpo")
	if err != nil {
		return fileSource{}, err
	}
	return fileSource{s}, s.reader.Restore(dataset.State{CurrentIndex: pos.Count})
}

// Read implements trainer.Source. n rows are a batch, which of pairs has twice as many experiences.
func (s fileSource) Read(_ context.Context, _, n int) ([]*experience.Experience, error) {
	list, err := s.next()
	if err == nil && len(list) < n {
		return nil, io.EOF
	}
	return list, err
}

// Position implements trainer.Source.
func (s fileSource) Position() trainer.Position {
	return trainer.Position{Count: s.reader.State().CurrentIndex}
}
