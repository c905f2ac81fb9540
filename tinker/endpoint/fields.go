package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields are the parameters of a body that were not read yet, by name.
type fields map[string]json.RawMessage

// readFields reads a body. A parameter that is null is as good as missing.
func readFields(body []byte) (fields, error) {
	var f fields
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, invalid("", "the body is not a JSON object: %v", err)
	}
	if f == nil {
		return nil, invalid("", "the body is null; send a JSON object")
	}
	maps.DeleteFunc(f, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
	return f, nil
}

// readObject reads an object within a body, as readFields reads a body.
func readObject(raw json.RawMessage) (fields, error) {
	var f fields
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return nil, invalid("", "%s is not an object", brief(raw))
	}
	return readFields(raw)
}

// take reads a parameter into v, which keeps its value if the parameter is missing, and reports whether it was there.
func (f fields) take(name string, v any) (bool, error) {
	raw, ok := f[name]
	if !ok {
		return false, nil
	}
	delete(f, name)
	if err := json.Unmarshal(raw, v); err != nil {
		return true, invalid(name, "%s is %s, which is not %s", name, brief(raw), kindOf(v))
	}
	return true, nil
}

// kindOf says what a parameter must be.
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
	case *fields, *map[string]json.RawMessage:
		return "an object"
	}
	return fmt.Sprintf("of the expected form (%s)", strings.TrimPrefix(fmt.Sprintf("%T", v), "*"))
}

// brief is the beginning of a value.
func brief(raw []byte) string {
	const most = 80
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}

// labels are parameters that name a request for OpenAI's own accounting and caches. They do not change an answer.
var labels = []string{"user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
	"request_id"}

// refusals are the parameters that are refused unless they ask for what happens anyway: by name, the values that do, as
// JSON, and the remedy.
type refusals map[string]struct {
	Neutral []string
	Remedy  string
}

// unsupported are those of OpenAI's interface.
var unsupported = refusals{
	"frequency_penalty":      {[]string{"0", "0.0"}, "leave it out"},
	"presence_penalty":       {[]string{"0", "0.0"}, "leave it out"},
	"repetition_penalty":     {[]string{"1", "1.0"}, "leave it out"},
	"length_penalty":         {[]string{"1", "1.0"}, "leave it out"},
	"logit_bias":             {[]string{"{}"}, "leave it out"},
	"best_of":                {[]string{"1"}, "use n"},
	"suffix":                 {[]string{`""`}, "leave it out"},
	"min_tokens":             {[]string{"0"}, "leave it out"},
	"use_beam_search":        {[]string{"false"}, "leave it out"},
	"response_format":        {[]string{`{"type":"text"}`}, "only text is generated; ask for the format in the prompt"},
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

// rest refuses the parameters that were not read.
func (f fields) rest() error { return f.refuse(labels, unsupported) }

// refuse refuses the parameters that were not read, by the tables of an interface.
func (f fields) refuse(labels []string, table refusals) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if slices.Contains(labels, name) {
			continue
		}
		u, known := table[name]
		if !known {
			return invalid(name, "Unrecognized request argument supplied: %s; leave it out", name)
		}
		if !slices.Contains(u.Neutral, compact(f[name])) {
			return invalid(name, "%s is %s, which is not supported here: %s", name, brief(f[name]), u.Remedy)
		}
	}
	return nil
}

// compact is JSON without white space, with the members of objects in the order of their names.
func compact(raw json.RawMessage) string {
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

// encoded is a value as JSON.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// within says where in a body an error is.
func within(place string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	name, _, _ := strings.Cut(place, "[")
	return invalid(name, "%s: %s", place, e.Message)
}

// maxStops limits the stop strings of a request.
const maxStops = 64
