package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Search is GEM's search tool: it sends the first query of an answer to a search server and returns the documents that
// the server finds.
//
// A query is a POST of {"query", "topk", "return_scores": true} in MessagePack; the answer is {"result": [{"document":
// {"contents": "title\ntext"}, "score"}, …]}.
type Search struct {
	url    string
	client *http.Client
	topK   int
	pause  time.Duration // between two attempts
}

// searchTimeout bounds one attempt.
const searchTimeout = 5 * time.Second

// attempts is how often a server is asked that does not answer.
const attempts = 3

// maxAnswer bounds the answer of a search server, in bytes.
const maxAnswer = 16 << 20

// newSearch makes a tool of a server's address.
func newSearch(url string, topK int, pause time.Duration) *Search {
	return &Search{url: url, client: &http.Client{Timeout: searchTimeout}, topK: topK, pause: pause}
}

// Instruction implements env.Tool.
func (s *Search) Instruction() string {
	return "You can use a search engine to answer questions.\n\nHow to use it:\n" +
		"- If you notice inside <think> that you lack knowledge, say in a new <think> block what to find out.\n" +
		"- Then send a query:\n  <search> your query here </search>\n" +
		"- What the search engine finds is shown to you next, as a list of documents.\n" +
		"- You may think and search as often as you need.\n" +
		"- In the end give your answer in:\n  <answer> your answer here </answer>"
}

// Use implements env.Tool.
func (s *Search) Use(ctx context.Context, action string) (env.ToolUse, error) {
	query, until, ok := findQuery(action)
	if !ok {
		return env.ToolUse{}, nil
	}
	use := env.ToolUse{Called: true, Action: action[:until]}
	documents, err := s.search(ctx, query)
	var bad refused
	switch {
	case errors.As(err, &bad):
		use.Failed, use.Text = true, fmt.Sprintf("[SearchTool Error: %v]", err)
		return use, nil
	case err != nil:
		return env.ToolUse{}, fmt.Errorf("tool: search: %w", err)
	}
	var b strings.Builder
	for i, d := range documents {
		title, text, _ := strings.Cut(d, "\n")
		fmt.Fprintf(&b, "Doc %d(Title: %s) %s\n", i+1, title, text)
	}
	use.Text = b.String()
	return use, nil
}

// findQuery finds the first query of an answer.
func findQuery(action string) (query string, until int, ok bool) {
	_, rest, opened := strings.Cut(action, "<search>")
	query, after, closed := strings.Cut(rest, "</search>")
	return strings.Trim(query, pythonSpace), len(action) - len(after), opened && closed
}

// refused is an answer of the server that blames the query.
type refused string

func (r refused) Error() string { return string(r) }

// search asks the server until it answers.
func (s *Search) search(ctx context.Context, query string) (documents []string, err error) {
	body, err := msgpack.Encode(map[string]any{"query": query, "topk": s.topK, "return_scores": true})
	if err != nil {
		return nil, err
	}
	for attempt := range attempts {
		if attempt > 0 {
			if err := pause.For(ctx, s.pause); err != nil {
				return nil, err
			}
		}
		var bad refused
		if documents, err = s.ask(ctx, body); err == nil || errors.As(err, &bad) {
			return documents, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("the server at %s does not answer: %w (asked %d times)", s.url, err, attempts)
}

// ask asks once.
func (s *Search) ask(ctx context.Context, body []byte) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/msgpack")
	resp, data, err := bound.Of(maxAnswer).Do(s.client, req)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; code {
	case http.StatusOK:
		return readDocuments(data)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return nil, refused(fmt.Sprintf("%d %s: %.200s", code, http.StatusText(code), bytes.TrimSpace(data)))
	default:
		return nil, fmt.Errorf("status %s: %.200s", resp.Status, bytes.TrimSpace(data))
	}
}
