package env

import (
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// Mode selects the content of a History.
type Mode int

const (
	Observations Mode = iota // the observations, one after the other
	Dialogue                 // observations and actions in turn
	Chat                     // a conversation in the model's chat template
	ChatOnReset              // as Dialogue, but the task is a user's message in the chat template
)

// Renderer writes a conversation in a model's format; a chat.Template is one.
type Renderer interface {
	Render(messages []chat.Message, o chat.Options) (string, error)
}

// HistoryOptions select the content of a History and its length.
type HistoryOptions struct {
	Mode     Mode
	Renderer Renderer // for Chat and ChatOnReset
	Bounded  bool     // forget all but the last Limit actions and the Limit+1 observations around them
	Limit    int
}

// History is an environment whose observations tell the whole episode, as a model without memory needs it. Each text
// ends with a newline, then come the prefix in front and the suffix after.
//
// In the chat modes the suffix ends the last message to the model, before the generation prompt.
// Upstream puts it after, into the model's own turn.
type History struct {
	Env          // the wrapped one
	o            HistoryOptions
	observations []Observation
	actions      []string // one less than observations
	forgotten    int      // turns that Limit dropped
	tools        jinja.List
}

// NewHistory wraps an environment.
func NewHistory(inner Env, o HistoryOptions) *History { return &History{Env: inner, o: o} }

// Reset begins an episode and shows its task.
func (h *History) Reset(seed uint64) (Observation, error) {
	o, err := h.Env.Reset(seed)
	if err != nil {
		return Observation{}, err
	}
	if h.tools = h.callable(o); h.tools != nil {
		o.Text = o.Plain
	}
	h.observations, h.actions, h.forgotten = append(h.observations[:0], o), h.actions[:0], 0
	return h.show(o)
}

// callable are the tools of a task that the chat template describes, nil if it describes none.
func (h *History) callable(o Observation) jinja.List {
	if styled, ok := h.o.Renderer.(interface{ CallStyle() chat.CallStyle }); h.o.Mode != Chat ||
		ok && styled.CallStyle() == chat.NoCalls {
		return nil
	}
	return o.Tools
}

// Step plays an action and shows the episode so far.
func (h *History) Step(action string) (Transition, error) {
	t, err := h.Env.Step(action)
	if err != nil {
		return Transition{}, err
	}
	if t.Action != "" {
		action = t.Action
	}
	h.actions = append(h.actions, action)
	h.observations = append(h.observations, t.Observation)
	if extra := len(h.actions) - h.o.Limit; h.o.Bounded && extra > 0 {
		h.actions = slices.Delete(h.actions, 0, extra)
		h.observations = slices.Delete(h.observations, 0, extra)
		h.forgotten += extra
	}
	t.Observation, err = h.show(t.Observation)
	return t, err
}

// Fork copies the history and forks the wrapped environment.
func (h *History) Fork() Env {
	return &History{h.Env.Fork(), h.o, slices.Clone(h.observations), slices.Clone(h.actions), h.forgotten, h.tools}
}

// show returns the newest observation with the history as its text.
func (h *History) show(o Observation) (_ Observation, err error) {
	if h.o.Mode == Chat {
		o.Text, err = h.chat(o)
	} else {
		o.Text, err = h.text(o)
	}
	o.Prefix, o.Suffix, o.Tools, o.Plain = "", "", nil, ""
	return o, err
}

// text joins observations and actions; the suffix follows the last observation.
func (h *History) text(last Observation) (string, error) {
	var b strings.Builder
	b.WriteString(last.Prefix)
	for i, o := range h.observations {
		text := line(o.Text)
		if i == len(h.observations)-1 {
			text += last.Suffix
		}
		if h.o.Mode == ChatOnReset && i == 0 && h.forgotten == 0 {
			if i < len(h.actions) || last.Suffix == "" {
				text = o.Text
			}
			message := []chat.Message{{Role: "user", Content: text}}
			rendered, err := h.o.Renderer.Render(message, chat.Options{AddGenerationPrompt: true})
			if err != nil {
				return "", err
			}
			text = rendered
			if i < len(h.actions) {
				text = line(text)
			}
		}
		b.WriteString(text)
		if i < len(h.actions) && h.o.Mode != Observations {
			b.WriteString(line(h.actions[i]))
		}
	}
	return b.String(), nil
}

// chat renders the episode as messages of the user, or of a tool, and the assistant.
func (h *History) chat(last Observation) (string, error) {
	messages := make([]chat.Message, 0, len(h.observations)+len(h.actions))
	for i, o := range h.observations {
		m := chat.Message{Role: "user", Content: o.Text}
		if o.Tool {
			m.Role = "tool"
		}
		if i == 0 {
			m.Content = last.Prefix + m.Content
		}
		if i == len(h.observations)-1 && last.Suffix != "" {
			m.Content = line(m.Content) + last.Suffix
		}
		messages = append(messages, m)
		if i < len(h.actions) {
			messages = append(messages, chat.Message{Role: "assistant", Content: h.actions[i]})
		}
	}
	return h.o.Renderer.Render(messages, chat.Options{AddGenerationPrompt: true, Tools: h.tools})
}

// line ends a text with a newline unless it has one or is empty.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
