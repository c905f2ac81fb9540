package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Config is the part of tokenizer_config.json about chat: the template and the
// spelling of the tokens that templates name. A token that is not set is "".
type Config struct {
	ChatTemplate string // the default one
	// Templates holds the named templates of models that have several.
	Templates map[string]string

	BOSToken string
	EOSToken string
	PADToken string
	UNKToken string
	// SpecialTokens are the additional special tokens.
	SpecialTokens []string
}

// configFile is tokenizer_config.json as written.
type configFile struct {
	ChatTemplate json.RawMessage `json:"chat_template"`
	BOS          tokenText       `json:"bos_token"`
	EOS          tokenText       `json:"eos_token"`
	PAD          tokenText       `json:"pad_token"`
	UNK          tokenText       `json:"unk_token"`
	Additional   []tokenText     `json:"additional_special_tokens"`
	Extra        json.RawMessage `json:"extra_special_tokens"`
}

// tokenText is a token written as a string or as an object with a content.
type tokenText string

// UnmarshalJSON reads either spelling.
func (t *tokenText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var object struct{ Content string }
		err := json.Unmarshal(data, &object)
		*t = tokenText(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// LoadConfig reads tokenizer_config.json of a folder. A chat_template.jinja
// beside it wins over the templates inside, and additional_chat_templates has
// others by their names. None of them needs to exist.
func LoadConfig(dir string) (*Config, error) {
	data, err := disk.ReadFile(filepath.Join(dir, "tokenizer_config.json"), disk.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, dir)
	}
	text, err := disk.ReadFile(filepath.Join(dir, "chat_template.jinja"), disk.SmallFile)
	if err == nil {
		c.ChatTemplate, c.Templates = string(text), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if err := c.addTemplates(dir); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return c, nil
}

// TemplatesDir is the folder of a model's templates besides chat_template.jinja,
// each in a file of its name.
const TemplatesDir = "additional_chat_templates"

// TemplateFiles lists the files in TemplatesDir of the model folder dir: paths
// below dir, with slashes. Most models have none.
func TemplateFiles(dir string) (names []string, err error) {
	files, err := os.ReadDir(filepath.Join(dir, TemplatesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if path.Ext(f.Name()) == templateExt && !f.IsDir() {
			names = append(names, path.Join(TemplatesDir, f.Name()))
		}
	}
	return names, nil
}

const templateExt = ".jinja"

// addTemplates reads the files in TemplatesDir of the folder dir.
func (c *Config) addTemplates(dir string) error {
	files, err := TemplateFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := disk.ReadFile(filepath.Join(dir, name), disk.SmallFile)
		if err != nil {
			return err
		}
		if c.Templates == nil {
			c.Templates = map[string]string{}
		}
		c.Templates[strings.TrimSuffix(path.Base(name), templateExt)] = string(text)
	}
	return nil
}

// parseConfig reads the contents of a tokenizer_config.json.
func parseConfig(data []byte) (*Config, error) {
	var f configFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: not a tokenizer_config.json: %w", err)
	}
	c := &Config{BOSToken: string(f.BOS), EOSToken: string(f.EOS), PADToken: string(f.PAD), UNKToken: string(f.UNK)}
	for _, t := range f.Additional {
		c.SpecialTokens = append(c.SpecialTokens, string(t))
	}
	var extra []tokenText // newer files; as an object it names attributes, which templates do not see
	if json.Unmarshal(f.Extra, &extra) == nil {
		for _, t := range extra {
			c.SpecialTokens = append(c.SpecialTokens, string(t))
		}
	}
	return c, c.setTemplates(f.ChatTemplate)
}

// setTemplates reads chat_template: one text, or a list of named texts.
func (c *Config) setTemplates(data json.RawMessage) error {
	if absent(data) {
		return nil
	}
	if data[0] != '[' {
		if err := json.Unmarshal(data, &c.ChatTemplate); err != nil {
			return fmt.Errorf("tokenizer: chat_template: %w", err)
		}
		return nil
	}
	var named []struct{ Name, Template string }
	if err := json.Unmarshal(data, &named); err != nil {
		return fmt.Errorf("tokenizer: chat_template: %w", err)
	}
	c.Templates = make(map[string]string, len(named))
	for _, n := range named {
		c.Templates[n.Name] = n.Template
	}
	c.ChatTemplate = c.Templates["default"]
	return nil
}
