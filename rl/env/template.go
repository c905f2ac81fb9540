package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template writes an observation for the model: ChatML up to the model's answer.
type Template func(observation string) string

// boxed asks for an answer that the environments can find. The templates' wording is from GEM's trainers.
const boxed = "\nPlease reason step by step, and put your final answer within \\boxed{}."

// The templates' names.
const (
	GameTemplate    = "qwen3_game"
	GeneralTemplate = "qwen3_general"
	NoTemplate      = "no"
)

// Templates are the templates by name.
func Templates() map[string]Template {
	return map[string]Template{
		GameTemplate:    func(observation string) string { return user(Message(GameTemplate, observation)) },
		GeneralTemplate: func(question string) string { return user(Message(GeneralTemplate, question)) },
		NoTemplate:      func(observation string) string { return observation },
	}
}

// Message is the user's message in which a template shows an observation.
func Message(template, observation string) string {
	switch template {
	case GameTemplate:
		return "You are playing language games. Make valid actions to win.\nObservation: " + observation + boxed
	case GeneralTemplate:
		return "Question: " + observation + boxed
	}
	return observation
}

// user is a message of the user and the beginning of the answer.
func user(content string) string {
	return "<|im_start|>user\n" + content + "<|im_end|>\n<|im_start|>assistant\n"
}

// TemplateOf finds a template by name.
func TemplateOf(name string) (Template, error) {
	all := Templates()
	if t, ok := all[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("env: there is no template %q; there are %s", name,
		strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}
