package job

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Model is a model folder as text and tokens see it. It implements workflow.Renderer.
type Model struct {
	Name      string
	Dir       string
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil: the model has none, or it is not read yet
	Thinking  *bool          // chat_template's enable_thinking; nil: as the template has it
	Stops     []int32        // to be named in requests; nil when the service knows them
}

// LoadModel reads the tokenizer of the model folder dir, or takes it from read, if that is the same folder. read may be
// nil.
func LoadModel(name, dir string, read *Model) (*Model, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if read != nil && read.Dir == abs {
		return &Model{Name: name, Dir: abs, Tokenizer: read.Tokenizer}, nil
	}
	tok, err := tokenizer.Load(abs)
	if err != nil {
		return nil, err
	}
	return &Model{Name: name, Dir: abs, Tokenizer: tok}, nil
}

// TemplateText is the chat template that a configuration chooses: chat_template_path, else
// rollout_model.chat_template or custom_chat_template, else the model's own.
func TemplateText(cfg *config.Config, own string) (string, error) {
	switch {
	case cfg.Model.ChatTemplatePath != "":
		text, err := disk.ReadFile(cfg.Model.ChatTemplatePath, disk.SmallFile)
		if err != nil {
			return "", fmt.Errorf("run: model.chat_template_path: %w", err)
		}
		return string(text), nil
	case cfg.Explorer.RolloutModel.ChatTemplate != "": // custom_chat_template where that is open
		return cfg.Explorer.RolloutModel.ChatTemplate, nil
	}
	return own, nil
}

// Configure reads the chat template that a configuration chooses, and returns its text. Templates are told date.
func (m *Model) Configure(cfg *config.Config, date time.Time) (text string, err error) {
	conf, err := tokenizer.LoadConfig(m.Dir)
	if err != nil {
		return "", err
	}
	if text, err = TemplateText(cfg, conf.ChatTemplate); err != nil {
		return "", err
	}
	m.Template, err = chat.New(text, conf, date)
	return text, err
}

// ReadTemplate reads another chat template for the model's tokenizer.
func (m *Model) ReadTemplate(text string, date time.Time) (*chat.Template, error) {
	conf, err := tokenizer.LoadConfig(m.Dir)
	if err != nil {
		return nil, err
	}
	return chat.New(text, conf, date)
}

// UseOwnTemplate reads the model's own chat template. A base model may have none: then Template is nil.
func (m *Model) UseOwnTemplate(date time.Time) error {
	conf, err := tokenizer.LoadConfig(m.Dir)
	if err != nil || conf.ChatTemplate == "" {
		return err
	}
	m.Template, err = chat.New(conf.ChatTemplate, conf, date)
	return err
}

// NameStops fills in the tokens that end a turn, for a server, which need not know the chat template that is used here.
func (m *Model) NameStops() (err error) {
	m.Stops, err = m.Ends()
	return err
}
