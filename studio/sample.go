package studio

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Message is one of a conversation.
type Message struct {
	Role      string             `json:"role"`
	Content   string             `json:"content"`
	Thinking  *string            `json:"thinking"`
	ToolCalls []rollout.ToolCall `json:"tool_calls"`
	Turn      int                `json:"turn"`
	Reward    *float64           `json:"reward"`
}

// Token is one token of a sample.
type Token struct {
	ID           int32         `json:"id"`
	Text         string        `json:"text"`            // "" if it is not UTF-8
	Bytes        string        `json:"bytes,omitempty"` // in base64, if it is not UTF-8
	Logprob      *float64      `json:"logprob"`         // nats
	Entropy      *float64      `json:"entropy"`
	Advantage    *float64      `json:"advantage"`
	Ratio        *float64      `json:"ratio"`
	Reference    *float64      `json:"reference"`
	Mask         int           `json:"mask"` // 1: trained
	Special      bool          `json:"special"`
	Prompt       bool          `json:"prompt"`           // the model was given it
	Begins       bool          `json:"begins,omitempty"` // another sequence of the episode begins here
	Alternatives []Alternative `json:"alternatives"`
}

// Alternative is a token that might have been drawn.
type Alternative struct {
	ID      int32   `json:"id"`
	Text    string  `json:"text"`
	Logprob float64 `json:"logprob"`
}

// Sample is a sample with all that is known of it.
type Sample struct {
	Row
	Record     string             `json:"record"` // the id in the run's own file
	Messages   []Message          `json:"messages"`
	Board      *string            `json:"board"`
	Prompt     string             `json:"prompt"`
	Response   string             `json:"response"`
	Tokens     []Token            `json:"tokens,omitempty"`
	TokenCount int                `json:"token_count"`
	PromptLen  int                `json:"prompt_count"`
	Decoded    bool               `json:"decoded"` // false: tokens have no text, since the tokenizer is gone
	Dropped    bool               `json:"dropped"` // it was not trained on
	Truth      *string            `json:"truth"`
	Grade      *grade             `json:"grade"`
	Metrics    map[string]float64 `json:"metrics"`
}

// tokensAtOnce is how many tokens of a sample are sent unless more are asked for.
const tokensAtOnce = 20000

// sample is GET /api/runs/{run}/samples/{sample}.
func (s *Studio) sample(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	from, count := max(q.int("from", 0), 0), min(max(q.int("count", tokensAtOnce), 0), 200000)
	if q.err != nil {
		return q.err
	}
	f, i, rec, err := s.record(r.Context(), e, r.PathValue("sample"))
	if err != nil {
		return err
	}
	out := sampleOf(f, i, rec)
	words := e.words(r.Context(), f)
	out.Decoded = words.some()
	each := e.measured(r.Context(), f, i, &out)
	out.Tokens = tokensOf(rec, each, words, from, count)
	return answer(w, out)
}

// record reads the record of a sample.
func (s *Studio) record(ctx context.Context, e *entry, id string) (*rollout.Indexed, int, *rollout.Record, error) {
	t := s.tableOf(ctx, e, func(f *rollout.File) bool { return strings.HasPrefix(id, fileID(f)+".") })
	f, i, ok := lookID(t, id)
	if !ok {
		return nil, 0, nil, refusal{http.StatusNotFound, "not_found",
			fmt.Sprintf("studio: run %s has no sample %q; the "+
				"run may have written the step again, or it is not indexed yet", e.id, id)}
	}
	open, err := e.folder.Open(f.File)
	if err != nil {
		return nil, 0, nil, gone(err)
	}
	defer open.Close()
	rec, err := readRecord(open, &f.Rows[i])
	return f, i, rec, err
}

func readRecord(open rollout.Opened, r *rollout.Row) (*rollout.Record, error) {
	line, err := open.Read(r, r.Whole(), nil)
	if err != nil {
		return nil, gone(err)
	}
	rec, err := rollout.Decode(line)
	if err != nil {
		return nil, gone(err)
	}
	return rec, nil
}

// gone is an error of a file that was changed or deleted.
func gone(err error) error {
	return refusal{http.StatusGone, "gone", err.Error() + "; look at the step again"}
}

// sampleOf is a record without its tokens.
func sampleOf(f *rollout.Indexed, i int, rec *rollout.Record) Sample {
	out := Sample{Row: row(f, i), Record: rec.ID, Messages: messagesOf(rec), Prompt: rec.Prompt, Response: rec.Response,
		TokenCount: len(rec.PromptTokens) + len(rec.Tokens), PromptLen: len(rec.PromptTokens), Metrics: rec.Metrics,
		Dropped: rec.Dropped}
	out.Head = clip(rec.Response, headLength)
	if rec.Board != "" {
		out.Board = &rec.Board
	}
	out.Grade = gradeOf(rec, out.Parts)
	if g := rec.Grade; g != nil && g.Truth != "" {
		out.Truth = &g.Truth
	}
	if out.Metrics == nil {
		out.Metrics = map[string]float64{}
	}
	return out
}

// messagesOf is the conversation of a record.
func messagesOf(rec *rollout.Record) []Message {
	list := rec.Conversation()
	out := make([]Message, 0, len(list))
	turn := 0
	for _, m := range list {
		if m.Role == "assistant" {
			turn++
		}
		out = append(out, messageOf(m, turn))
	}
	return out
}

func messageOf(m rollout.Message, turn int) Message {
	out := Message{Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, Turn: cmp.Or(m.Turn, turn),
		Reward: m.Reward}
	if out.ToolCalls == nil {
		out.ToolCalls = []rollout.ToolCall{}
	}
	thinking := m.Thinking
	if thinking == "" && m.Role == "assistant" {
		thinking, out.Content = thought(m.Content)
	}
	if thinking != "" {
		out.Thinking = &thinking
	}
	return out
}

// thought takes <think>…</think> at the beginning of an answer apart.
func thought(content string) (thinking, rest string) {
	body, ok := strings.CutPrefix(strings.TrimLeft(content, " \n\t"), "<think>")
	if !ok {
		return "", content
	}
	thinking, rest, closed := strings.Cut(body, "</think>")
	if !closed { // it was cut off while thinking
		return body, ""
	}
	return thinking, rest
}

// tokensOf is a part of a record's tokens, the prompt's first.
func tokensOf(rec *rollout.Record, each []float32, words words, from, count int) []Token {
	n := len(rec.PromptTokens)
	all := n + len(rec.Tokens)
	from = min(from, all)
	to := from + min(count, all-from)
	out := make([]Token, 0, to-from)
	mask := rec.Trained(len(rec.Tokens))
	for i := from; i < to; i++ {
		if i < n {
			t := words.token(rec.PromptTokens[i])
			t.Prompt = true
			out = append(out, t)
			continue
		}
		t := responseToken(rec, words, i-n, mask)
		if t.Mask == 1 && i-n < len(each) {
			t.Entropy = rollout.Finite(float64(each[i-n]))
		}
		out = append(out, t)
	}
	return out
}

func responseToken(rec *rollout.Record, words words, i int, mask []bool) Token {
	t := words.token(rec.Tokens[i])
	t.Begins = slices.Contains(rec.Starts, i)
	if !mask[i] {
		return t
	}
	t.Mask = 1
	if i < len(rec.Logprobs) {
		t.Logprob = rollout.Finite(float64(rec.Logprobs[i]))
	}
	if i < len(rec.Advantages) {
		t.Advantage = rollout.Finite(float64(rec.Advantages[i]))
	} else if rec.Advantage != nil {
		t.Advantage = rollout.Finite(float64(*rec.Advantage))
	}
	return t
}

// group is GET /api/runs/{run}/groups/{step}/{task}.
func (s *Studio) group(e *entry, w http.ResponseWriter, r *http.Request) error {
	step, err := strconv.Atoi(r.PathValue("step"))
	if err != nil {
		return invalid("step %q is no whole number", r.PathValue("step"))
	}
	filter := &rollout.Filter{Set: r.URL.Query().Get("set"), Steps: []int{step}, Groups: []string{r.PathValue("task")}}
	t := s.tableFor(r.Context(), e, filter)
	list := t.Select(filter)
	if len(list) == 0 {
		return refusal{http.StatusNotFound, "not_found", fmt.Sprintf("studio: step %d of run %s has no task %q", step,
			e.id, r.PathValue("task"))}
	}
	list = list[:min(len(list), maxGroup)]
	samples, records, err := s.whole(e, t, list)
	if err != nil {
		return err
	}
	f, _ := t.At(list[0])
	out := map[string]any{"samples": samples, "differs_at": differsAt(records), "signal": f.Signal[list[0].Row],
		"reward_mean": nil, "reward_std": nil, "key": samples[0].Key, "step": step, "task": r.PathValue("task"),
		"set": f.Set, "prompt": samples[0].Prompt, "task_name": samples[0].TaskName}
	for _, g := range f.Groups {
		if g.Name == r.PathValue("task") {
			out["reward_mean"], out["reward_std"] = rollout.Finite(g.Mean), rollout.Finite(g.Std)
		}
	}
	return answer(w, out)
}

// maxGroup is how many samples of a group are sent.
const maxGroup = 256

// whole reads the samples at places without their tokens.
func (s *Studio) whole(e *entry, t *rollout.Table, list []rollout.Place) ([]Sample, []*rollout.Record, error) {
	var samples []Sample
	var records []*rollout.Record
	for _, p := range list {
		f, r := t.At(p)
		open, err := e.folder.Open(f.File)
		if err != nil {
			return nil, nil, gone(err)
		}
		rec, err := readRecord(open, r)
		open.Close()
		if err != nil {
			return nil, nil, err
		}
		samples, records = append(samples, sampleOf(f, int(p.Row), rec)), append(records, rec)
	}
	return samples, records, nil
}

// difference is where answers first differ.
type difference struct {
	Token int `json:"token"`
	Char  int `json:"char"` // in UTF-16 code units, as browsers count
}

// differsAt is the first place where the answers are not all equal; nil if they are, or if there is one.
func differsAt(records []*rollout.Record) *difference {
	token, char := math.MaxInt, math.MaxInt
	for _, r := range records[1:] {
		if n, differ := common(records[0].Tokens, r.Tokens); differ {
			token = min(token, n)
		}
		if n, differ := common([]rune(records[0].Response), []rune(r.Response)); differ {
			char = min(char, n)
		}
	}
	if token == math.MaxInt && char == math.MaxInt {
		return nil
	}
	units := 0
	for i, c := range []rune(records[0].Response) {
		if i == char {
			break
		}
		units++
		if c > 0xFFFF {
			units++
		}
	}
	return &difference{Token: min(token, len(records[0].Tokens)), Char: units}
}

// common is the length of the common beginning, and whether there is a difference after it.
func common[T comparable](a, b []T) (n int, differ bool) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n, n < len(a) || n < len(b)
}
