package rollout

import (
	"hash/fnv"
	"math"
	"strconv"
	"strings"
)

// Row is a record in an index: its place, and the fields that tables show, filter and sort by. Numbers that a record
// does not have are NaN.
type Row struct {
	Offset int64 // of the line in its file, or its number in a database
	Length int32 // bytes of the line, without the line feed
	Text   Span  // of prompt and response in the line
	Line   int32 // from 0

	Group     string // the task within the step
	Repeat    int32
	Turn      int32 // of a record that is one turn of an episode
	Task      int32 // the row of the taskset
	Taskset   int32
	Key       uint64 // of what the task asks, equal across runs
	Version   int32  // of the weights
	Prompt    int32  // tokens
	Response  int32  // tokens
	Turns     int32
	ToolCalls int32
	Reward    float64
	Advantage float32
	Entropy   float32
	Stop      string
	Parts     []float64 // by the names of the segment
}

// Span is a place in a line.
type Span struct{ At, Len int32 }

// Describe is the row of a record's line, with its parts by name. Place and line are the caller's to set.
func Describe(line []byte) (row Row, parts map[string]float64, err error) {
	d := describer{row: Row{Reward: math.NaN(), Advantage: nan32(), Entropy: nan32(), Turns: 1}, from: -1}
	if err := Fields(line, d.field); err != nil {
		return row, nil, err
	}
	if d.parts == nil {
		d.parts = d.metrics
	}
	if turns, ok := d.metrics["num_turns"]; ok && !d.turns {
		d.row.Turns = int32(turns)
	}
	if d.group != "" {
		d.row.Group = d.group
	}
	if d.from >= 0 {
		d.row.Text = Span{int32(d.from), int32(d.to - d.from)}
	}
	return d.row, d.parts, nil
}

func nan32() float32 { return float32(math.NaN()) }

type describer struct {
	row            Row
	from, to       int
	turns          bool
	group          string
	parts, metrics map[string]float64
}

func (d *describer) field(key, value []byte, at int) {
	r := &d.row
	switch string(key) {
	case "id":
		r.identify(unquote(value))
	case "task":
		d.group = unquote(value)
	case "prompt":
		r.Key = taskKey(unquote(value))
		d.text(at, len(value))
	case "response":
		d.text(at, len(value))
	case "stop_reason":
		r.Stop = unquote(value)
	case "truncate_status":
		if r.Stop == "" {
			r.Stop = unquote(value)
		}
	case "prompt_tokens":
		r.Prompt = max(r.Prompt, int32(Count(value)))
	case "tokens":
		r.Response = max(r.Response, int32(Count(value)))
	case "metrics":
		d.metrics = numbers(value)
	case "reward_parts":
		d.parts = numbers(value)
	default:
		if v, ok := Number(value); ok {
			d.number(string(key), v)
		}
	}
}

func (d *describer) number(key string, v float64) {
	r := &d.row
	switch key {
	case "model_version":
		r.Version = int32(v)
	case "task_index":
		r.Task = int32(v)
	case "taskset_id":
		r.Taskset = int32(v)
	case "reward":
		r.Reward = v
	case "advantage":
		r.Advantage = float32(v)
	case "entropy":
		r.Entropy = float32(v)
	case "prompt_count":
		r.Prompt = max(r.Prompt, int32(v))
	case "response_count":
		r.Response = max(r.Response, int32(v))
	case "turns":
		r.Turns, d.turns = int32(v), true
	case "tool_calls":
		r.ToolCalls = int32(v)
	}
}

func (d *describer) text(at, n int) {
	if d.from < 0 || at < d.from {
		d.from = at
	}
	d.to = max(d.to, at+n)
}

// identify reads an id, <step>[/<taskset>]/<task>/<repeat>/<turn>/<suffix>, from its end.
func (r *Row) identify(id string) {
	parts := strings.Split(id, "/")
	n := len(parts)
	if n < 5 {
		r.Group = id
		return
	}
	r.Group = parts[n-4]
	r.Repeat, r.Turn = atoi(parts[n-3]), atoi(parts[n-2])
}

func atoi(s string) int32 {
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return int32(v)
}

// taskKey is a number for what a prompt asks: equal where the first message of the user is equal, or, where a prompt's
// messages cannot be told apart, the whole text.
func taskKey(prompt string) uint64 {
	text := prompt
	for _, m := range split(prompt) {
		if m.Role == "user" {
			text = m.Content
			break
		}
	}
	h := fnv.New64a()
	h.Write([]byte(strings.TrimSpace(text)))
	return h.Sum64()
}

// turnMarks are how chat templates begin and end a message: what stands before the role, after it, and after the
// content.
var turnMarks = []struct{ begin, role, end string }{
	{"<|im_start|>", "\n", "<|im_end|>"},
	{"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"},
	{"<start_of_turn>", "\n", "<end_of_turn>"},
}

// split is the messages of a rendered prompt, for records that have none; nil if the template is not one of those
// known.
func split(text string) []Message {
	for _, m := range turnMarks {
		if !strings.Contains(text, m.begin) {
			continue
		}
		var list []Message
		for _, part := range strings.Split(text, m.begin)[1:] {
			role, content, ok := strings.Cut(part, m.role)
			if !ok {
				continue
			}
			content, _, _ = strings.Cut(content, m.end)
			list = append(list, Message{Role: strings.TrimSpace(role), Content: content})
		}
		return list
	}
	return nil
}

// Conversation is the record's messages with the answer at the end. If there are none, the prompt's marks tell them.
func (r *Record) Conversation() []Message {
	list := r.Messages
	if len(list) == 0 {
		list = split(r.Prompt)
		if n := len(list); n > 0 && list[n-1].Role == "assistant" { // the generation prompt, or a reply's beginning
			list[n-1].Content += r.Response
			return list
		}
	}
	if len(list) == 0 {
		list = []Message{{Role: "user", Content: r.Prompt}}
	}
	if list[len(list)-1].Role == "assistant" || len(r.Messages) > 0 && r.Turns > 1 {
		return list
	}
	return append(list[:len(list):len(list)], Message{Role: "assistant", Content: r.Response})
}
