package wandb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// stream sends a run to the Weights & Biases service while it continues, as the service's own library does: the
// GraphQL mutation upsertBucket makes the run, and each batch of lines is a POST to its file_stream (requests recorded
// from wandb 0.31). The offline file is written all the same, so what the service misses `wandb sync` can send later.
type stream struct {
	client http.Client
	base   string
	key    string
	files  string // the address of the run's file_stream
	warn   func(string)

	entity, project, run string // as the service names them

	behind bool // a line did not fit: those after it have no place either

	lines chan historyLine
	done  chan struct{}
}

// historyLine is one step, or the end of the run.
type historyLine struct {
	history string // JSON, "" at the end
	offset  int    // lines before it
	table   *mediaFile
	last    bool
}

const (
	maxQueue = 1000             // steps that wait to be sent; more are left to wandb sync
	patience = 20 * time.Second // for the rest, at the end of the run
)

// keyOf is the key that sends a run online, "" if it stays here.
func keyOf(c monitor.Config) string {
	if mode := c.Env("WANDB_MODE"); mode == "offline" || mode == "disabled" {
		return ""
	}
	return cmp.Or(c.Text("api_key"), c.Env("WANDB_API_KEY"))
}

// startStream makes the run on the service and starts the goroutine that sends its lines. The run has the id and name
// of the offline file.
func startStream(c monitor.Config, key, id, role string) (*stream, error) {
	s := &stream{client: http.Client{Timeout: 15 * time.Second}, key: key, warn: c.Warn,
		base:  strings.TrimSuffix(cmp.Or(c.Text("base_url"), c.Env("WANDB_BASE_URL"), "https://api.wandb.ai"), "/"),
		lines: make(chan historyLine, maxQueue), done: make(chan struct{})}
	const mutation = `mutation Run($name: String, $project: String, $entity: String, $group: String, $title: String,` +
		` $config: JSONString, $tags: [String!]) {
  upsertBucket(input: {name: $name, modelName: $project, entityName: $entity, groupName: $group, displayName: ` +
		`$title, config: $config, tags: $tags}) {
    bucket { name project { name entity { name } } }
  }
}`
	settings := map[string]any{}
	for k, v := range c.Settings {
		settings[k] = map[string]any{"value": v}
	}
	variables := map[string]any{"name": id, "project": c.Project, "entity": nil, "group": cmp.Or(c.Group, c.Name),
		"title":  c.Name + "_" + role,
		"config": monitor.JSON(settings), "tags": []string{role}}
	if e := cmp.Or(c.Text("entity"), c.Env("WANDB_ENTITY")); e != "" {
		variables["entity"] = e
	}
	var answer struct {
		Errors []struct{ Message string }
		Data   struct {
			UpsertBucket struct {
				Bucket struct {
					Name    string
					Project struct {
						Name   string
						Entity struct{ Name string }
					}
				}
			}
		}
	}
	if err := s.post(s.base+"/graphql", map[string]any{"query": mutation, "variables": variables},
		&answer); err != nil {
		return nil, err
	}
	b := answer.Data.UpsertBucket.Bucket
	if len(answer.Errors) > 0 || b.Name == "" {
		return nil, fmt.Errorf("the service made no run: %v", answer.Errors)
	}
	s.entity, s.project, s.run = b.Project.Entity.Name, b.Project.Name, b.Name
	s.files = s.base + "/files/" + url.PathEscape(s.entity) + "/" + url.PathEscape(s.project) + "/" +
		url.PathEscape(s.run) + "/file_stream"
	go s.send()
	return s, nil
}

// add queues a line. It never waits: a service that is behind by too much gets it from wandb sync.
func (s *stream) add(l historyLine) {
	if s.behind {
		return
	}
	select {
	case s.lines <- l:
	default:
		s.behind = true
	}
}

// send posts the lines that are there, together, until the channel is closed.
func (s *stream) send() {
	defer close(s.done)
	failed := false
	for l := range s.lines {
		batch := []historyLine{l}
		for more := true; more; {
			select {
			case next, ok := <-s.lines:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		if err := s.sendBatch(batch); err != nil && !failed {
			failed = true
			if s.warn != nil {
				s.warn(fmt.Sprintf("monitor: wandb: %v; the run continues, and wandb sync sends what the service "+
					"misses", err))
			}
		}
	}
}

// sendBatch uploads the tables of lines, then the lines.
func (s *stream) sendBatch(batch []historyLine) error {
	var failed error
	var uploaded []string
	for _, l := range batch {
		if l.table == nil {
			continue
		}
		if err := s.upload(*l.table); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		uploaded = append(uploaded, l.table.name)
	}
	body := streamBody(batch)
	if len(uploaded) > 0 {
		body["uploaded"] = uploaded
	}
	return errors.Join(failed, s.post(s.files, body, nil))
}

// streamBody is a file_stream request: lines of the history at their place, the summary, and whether that is all.
func streamBody(batch []historyLine) map[string]any {
	var history []string
	body := map[string]any{}
	for _, l := range batch {
		if l.history != "" {
			history = append(history, l.history)
		}
		if l.last {
			body["complete"], body["exitcode"] = true, 0
		}
	}
	if len(history) > 0 {
		body["files"] = map[string]any{
			"wandb-history.jsonl": map[string]any{"offset": batch[0].offset, "content": history},
			"wandb-summary.json":  map[string]any{"offset": 0, "content": history[len(history)-1:]},
		}
	}
	return body
}

// close sends what is left, for a while.
func (s *stream) close(finished bool) {
	if finished {
		s.add(historyLine{last: true})
	}
	close(s.lines)
	select {
	case <-s.done:
	case <-time.After(patience):
	}
}

// post sends JSON and reads the answer into out, if that is not nil.
func (s *stream) post(to string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("api", s.key)
	resp, raw, err := bound.Of(1<<20).Do(&s.client, req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, raw[:min(len(raw), 300)])
	}
	if out == nil {
		return nil
	}
	return bound.Of(1<<20).Unmarshal(raw, out)
}
