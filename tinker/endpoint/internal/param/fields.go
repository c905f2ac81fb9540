// Package param reads the parameters of a body one by one, refuses the rest by name, and writes errors in the form
// of each interface.
package param

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fields are the parameters of a body that were not read yet, by name.
type Fields map[string]json.RawMessage

// ReadFields reads a body. A parameter that is null is as good as missing.
func ReadFields(body []byte) (Fields, error) {
	var f Fields
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, Invalid("", "the body is not a JSON object: %v", err)
	}
	if f == nil {
		return nil, Invalid("", "the body is null; send a JSON object")
	}
	maps.DeleteFunc(f, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
	return f, nil
}

// ReadObject reads an object within a body, as readFields reads a body.
func ReadObject(raw json.RawMessage) (Fields, error) {
	var f Fields
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return nil, Invalid("", "%s is not an object", Brief(raw))
	}
	return ReadFields(raw)
}

// Take reads a parameter into v, which keeps its value if the parameter is missing, and reports whether it was there.
func (f Fields) Take(name string, v any) (bool, error) {
	raw, ok := f[name]
	if !ok {
		return false, nil
	}
	delete(f, name)
	if err := json.Unmarshal(raw, v); err != nil {
		return true, Invalid(name, "%s is %s, which is not %s", name, Brief(raw), kindOf(v))
	}
	return true, nil
}

// kindOf names the type of a parameter.
func kindOf(v any) string {
	switch v.(type) {
	case *bool:
		return "true or false"
	case *int, *int64:
		return "an integer"
	case *float64:
		return "a number"
	case *string:
		return "a text"
	case *[]int32:
		return "a list of token ids"
	case *[]string:
		return "a list of texts"
	case *[]json.RawMessage:
		return "a list"
	case *Fields, *map[string]json.RawMessage:
		return "an object"
	}
	return fmt.Sprintf("of the expected form (%s)", strings.TrimPrefix(fmt.Sprintf("%T", v), "*"))
}

// Brief is the beginning of a value.
func Brief(raw []byte) string {
	const most = 80
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}

// Labels are parameters that name a request for OpenAI's own accounting and caches. They do not change an answer.
var Labels = []string{"user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
	"request_id"}

// RepeatWindow is Ollama's repeat_last_n in a chat or completion, where it is no parameter of a client.
const RepeatWindow = "\x00repeat_last_n"

// Renamed is an error of one parameter as that of another, by whose name the client gave it.
func Renamed(err error, from, to string) error {
	var e *Error
	if !errors.As(err, &e) || e.Param != from {
		return err
	}
	return Invalid(to, "%s", strings.ReplaceAll(e.Message, from, to))
}

// Refusals are the parameters that are refused unless they ask for what happens anyway: by name, the values that do, as
// JSON, and the remedy.
type Refusals map[string]struct {
	Neutral []string
	Remedy  string
}

// Unsupported are the refusals of OpenAI's interface.
var Unsupported = Refusals{
	"length_penalty":         {[]string{"1", "1.0"}, "leave it out"},
	"best_of":                {[]string{"1"}, "use n"},
	"suffix":                 {[]string{`""`}, "leave it out"},
	"min_tokens":             {[]string{"0"}, "leave it out"},
	"use_beam_search":        {[]string{"false"}, "leave it out"},
	"functions":              {[]string{"[]"}, "use tools"},
	"function_call":          {[]string{`"none"`}, "use tool_choice"},
	"audio":                  {nil, "only text is generated"},
	"modalities":             {[]string{`["text"]`}, "only text is generated"},
	"prediction":             {nil, "leave it out"},
	"web_search_options":     {nil, "leave it out"},
	"reasoning_effort":       {nil, "use chat_template_kwargs"},
	"verbosity":              {nil, "leave it out"},
	"store":                  {[]string{"false"}, "answers are not stored"},
	"service_tier":           {[]string{`"auto"`, `"default"`}, "leave it out"},
	"moderation":             {nil, "leave it out"},
	"prompt_logprobs":        {[]string{"0", "false"}, "use completions with echo and logprobs"},
	"chat_template":          {nil, "the model's own template is used"},
	"documents":              {[]string{"[]"}, "put them into the messages"},
	"structured_outputs":     {nil, "leave it out"},
	"guided_json":            {nil, "leave it out"},
	"guided_regex":           {nil, "leave it out"},
	"guided_choice":          {nil, "leave it out"},
	"guided_grammar":         {nil, "leave it out"},
	"logits_processors":      {[]string{"[]"}, "leave it out"},
	"bad_words":              {[]string{"[]"}, "leave it out"},
	"truncate_prompt_tokens": {nil, "shorten the prompt"},
	"priority":               {[]string{"0"}, "tenants get equal shares"},
	"echo":                   {[]string{"false"}, "use completions"},
	"top_logprobs":           {[]string{"0"}, "it needs logprobs: true"},
}

// Rest refuses the parameters that were not read.
func (f Fields) Rest() error { return f.Refuse(Labels, Unsupported) }

// Refuse refuses the parameters that were not read, by the tables of an interface.
func (f Fields) Refuse(labels []string, table Refusals) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if slices.Contains(labels, name) {
			continue
		}
		u, known := table[name]
		if !known {
			return Invalid(name, "Unrecognized request argument supplied: %s; leave it out", name)
		}
		if !slices.Contains(u.Neutral, Compact(f[name])) {
			return Invalid(name, "%s is %s, which is not supported here: %s", name, Brief(f[name]), u.Remedy)
		}
	}
	return nil
}

// Compact is JSON without white space, with the members of objects in the order of their names.
func Compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// Encoded is a value as JSON.
func Encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// Within says where in a body an error is.
func Within(place string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	name, _, _ := strings.Cut(place, "[")
	return Invalid(name, "%s: %s", place, e.Message)
}

// MaxStops limits the stop strings of a request.
const MaxStops = 64
