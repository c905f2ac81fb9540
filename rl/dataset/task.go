package dataset

import (
	"fmt"
	"strings"
)

// Format says which columns of a row mean what. Section is the place of these keys in the configuration,
// such as buffer.explorer_input.taskset.format, for error messages.
type Format struct {
	Section         string
	PromptKey       string // the task; required
	ResponseKey     string // the reference answer; "" means there is none
	WorkflowKey     string // a column that names the row's workflow; "" or no such column means the default
	RewardFnKey     string // the same for its reward
	SystemPrompt    string
	SystemPromptKey string // a column that wins over SystemPrompt
	MessagesKey     string // a conversation: a list of role and content, or JSON text of one
	Loose           bool   // rows may lack the columns of prompt and answer: the workflow reads others
	ChosenKey       string // the better of two answers
	RejectedKey     string // the worse
}

// Task is one row to work on.
type Task struct {
	Index    int // the row's index in the dataset
	Epoch    int // the pass over the dataset it is part of, from 0
	Prompt   string
	Truth    string // "" if no response column is configured
	Workflow string // "" for the configured default
	RewardFn string // "" for the configured default
	Row      Row
}

// Task reads a row as a task.
func (f Format) Task(src *Source, item Item) (Task, error) {
	row, err := src.Row(item.Index)
	if err != nil {
		return Task{}, err
	}
	t := Task{Index: item.Index, Epoch: item.Epoch, Row: row}
	if v, _ := row.Get(f.PromptKey); v != nil || !f.Loose {
		if t.Prompt, err = f.column(src, item.Index, row, "prompt_key", f.PromptKey); err != nil {
			return Task{}, err
		}
	}
	if v, _ := row.Get(f.ResponseKey); f.ResponseKey != "" && (v != nil || !f.Loose) {
		if t.Truth, err = f.column(src, item.Index, row, "response_key", f.ResponseKey); err != nil {
			return Task{}, err
		}
	}
	t.Workflow, t.RewardFn = optional(row, f.WorkflowKey), optional(row, f.RewardFnKey)
	return t, nil
}

// Check reads the first row as a task, so that a wrong column name is found before anything else starts.
func (f Format) Check(src *Source) error {
	_, err := f.Task(src, Item{})
	return err
}

// column is the text of a column that has to be there.
func (f Format) column(src *Source, index int, row Row, setting, key string) (string, error) {
	value, ok := row.Get(key)
	if !ok {
		return "", f.missing(src, index, row, setting, key)
	}
	if value == nil && setting != "system_prompt_key" {
		return "", f.null(src, index, setting, key)
	}
	s, err := contentText(value)
	if err != nil {
		return "", fmt.Errorf("dataset: %s: column %q: %w", src.Place(index), key, err)
	}
	return s, nil
}

// null is the error of a row whose question or answer is null. An empty text would be another task.
func (f Format) null(src *Source, index int, setting, key string) error {
	return fmt.Errorf("dataset: %s: column %q is null; give the row a text or remove it, or set %s to another column",
		src.Place(index), key, f.where(setting))
}

// where is the place of a setting in the configuration.
func (f Format) where(setting string) string {
	if f.Section == "" {
		return setting
	}
	return f.Section + "." + setting
}

func (f Format) missing(src *Source, index int, row Row, setting, key string) error {
	columns := row.Columns()
	if len(columns) == 0 {
		columns = []string{"none"}
	}
	none := ""
	if setting == "response_key" {
		none = `, or to "" if the rows have no answers`
	}
	return &MissingColumn{setting, fmt.Errorf("dataset: %s: no column %q; the columns are: %s; set %s to one of them%s",
		src.Place(index), key, strings.Join(columns, ", "), f.where(setting), none)}
}

// MissingColumn is an error about a row without the column that a key of the format names.
type MissingColumn struct {
	Setting string // the key, such as prompt_key
	err     error
}

func (m *MissingColumn) Error() string { return m.err.Error() }

func optional(row Row, key string) string {
	if key == "" {
		return ""
	}
	value, _ := row.Get(key)
	s, _ := value.(string)
	return s
}
