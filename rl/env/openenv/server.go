package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// web speaks HTTP with a server: its health, its schemas and its tasks.
type web struct {
	client  *http.Client
	timeout time.Duration
	limits  bound.Limits // of an answer
}

func newWeb(a *arguments) *web {
	return &web{client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 4}}, timeout: a.timeout, limits: bound.Of(a.messageCap)}
}

func (w *web) close() { w.client.CloseIdleConnections() }

// status is an answer other than 200.
type status struct {
	url  string
	code int
	body string
}

func (s *status) Error() string {
	return fmt.Sprintf("%s answers %d %s: %s", s.url, s.code, http.StatusText(s.code), cut(s.body, 200))
}

func isStatus(err error, code int) bool {
	var s *status
	return errors.As(err, &s) && s.code == code
}

// ask makes a request; with a body it is a POST.
func (w *web) ask(ctx context.Context, url string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, reader = http.MethodPost, bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, data, err := w.limits.Do(w.client, request)
	if err == nil {
		err = w.limits.Check(data)
	}
	var much *bound.Error
	switch {
	case response == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s does not answer within %s; timeout=SECONDS in the id gives it more", url, w.timeout)
	case response == nil:
		return nil, fmt.Errorf("cannot reach the server: %w; start it, or correct the address", err)
	case errors.As(err, &much):
		return nil, fmt.Errorf("%s answers with %w; max_message=MIB in the id allows more", url, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", url, err)
	case response.StatusCode != http.StatusOK:
		return nil, &status{url, response.StatusCode, strings.TrimSpace(string(data))}
	}
	return data, nil
}

// into decodes an answer.
func (w *web) into(ctx context.Context, url string, body, to any) error {
	data, err := w.ask(ctx, url, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", url, garbage(data, err.Error()))
	}
	return nil
}

// schema reads the schema of the environment's actions.
func (w *web) schema(ctx context.Context, base string) (*schema, error) {
	data, err := w.ask(ctx, base+"/schema", nil)
	var s *status
	if errors.As(err, &s) {
		return nil, fmt.Errorf("%w; is it an OpenEnv server?", err)
	}
	if err != nil {
		return nil, err
	}
	return readSchemas(data)
}

// tasks is the task API of a server for one split.
type tasks struct {
	web   *web
	base  func(context.Context) (string, error) // of the server
	name  string                                // of the environment
	split string
	count int // when the run began
}

// openTasks finds the split and counts its tasks.
func openTasks(ctx context.Context, w *web, base func(context.Context) (string, error), split string) (*tasks, error) {
	t := &tasks{web: w, base: base, split: split}
	url, err := base(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	if err := w.into(ctx, url+"/list_environments", nil, &names); err != nil {
		return nil, t.without(err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the task API lists no environment")
	}
	t.name = names[0]
	var splits []struct {
		Name string `json:"name"`
	}
	if err := w.into(ctx, t.url(url, "splits"), nil, &splits); err != nil {
		return nil, t.without(err)
	}
	known := make([]string, len(splits))
	for i, s := range splits {
		known[i] = s.Name
	}
	if !slices.Contains(known, split) {
		return nil, fmt.Errorf("%s has no split %q; it has %s", t.name, split, strings.Join(known, ", "))
	}
	if t.count, err = t.number(ctx); err != nil {
		return nil, t.without(err)
	}
	if t.count < 1 {
		return nil, fmt.Errorf("the split %s of %s has %d tasks", split, t.name, t.count)
	}
	if _, err := t.task(ctx, t.count-1); err != nil {
		return nil, fmt.Errorf("the split %s of %s is said to have %d tasks, and the last cannot be had: %w", split,
			t.name, t.count, err)
	}
	return t, nil
}

// without explains errors of a server without a task API.
func (t *tasks) without(err error) error {
	if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusNotImplemented) {
		return fmt.Errorf("the server has no tasks of split %s: %w; leave split out of the id, and the seeds are the "+
			"tasks", t.split, err)
	}
	return err
}

func (t *tasks) url(base, route string) string {
	return base + "/" + url.PathEscape(t.name) + "/" + route
}

// number counts the tasks as they are now.
func (t *tasks) number(ctx context.Context) (int, error) {
	base, err := t.base(ctx)
	if err != nil {
		return 0, err
	}
	var n struct {
		Tasks *int `json:"num_tasks"`
	}
	where := t.url(base, "num_tasks")
	if err := t.web.into(ctx, where, map[string]any{"split": t.split}, &n); err != nil {
		return 0, err
	}
	if n.Tasks == nil {
		return 0, fmt.Errorf("%s: %w: there is no num_tasks in it", where, errGarbage)
	}
	return *n.Tasks, nil
}

// task reads a task, from task_range where the server has no task. A server that has neither shows none.
func (t *tasks) task(ctx context.Context, index int) (json.RawMessage, error) {
	base, err := t.base(ctx)
	if err != nil {
		return nil, err
	}
	var one struct {
		Task json.RawMessage `json:"task"`
	}
	err = t.web.into(ctx, t.url(base, "task"), map[string]any{"split": t.split, "index": index}, &one)
	if err == nil || !isStatus(err, http.StatusNotImplemented) && !isStatus(err, http.StatusNotFound) {
		return one.Task, err
	}
	var some struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	part := map[string]any{"split": t.split, "start": index, "stop": index + 1}
	err = t.web.into(ctx, t.url(base, "task_range"), part, &some)
	switch {
	case isStatus(err, http.StatusNotImplemented) || isStatus(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case len(some.Tasks) != 1:
		return nil, fmt.Errorf("task_range from %d to %d has %d tasks", index, index+1, len(some.Tasks))
	}
	return some.Tasks[0], nil
}

// shrunk says that a task is gone since the run began, if that is why it cannot be played; otherwise it returns err.
func (t *tasks) shrunk(ctx context.Context, index int, err error) error {
	n, nerr := t.number(ctx)
	if nerr != nil || n >= t.count {
		return err
	}
	return fmt.Errorf("task %d of split %s cannot be played: the server had %d tasks when the run began and has %d "+
		"now; give it the same tasks for the whole run, or start the run again: %w", index, t.split, t.count, n, err)
}
