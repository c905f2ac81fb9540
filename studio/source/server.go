package source

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// remote is a training run on a Tinker server. Its metrics and samples are elsewhere, with the loop.
type remote struct {
	server *Tinker
	id     string

	mu    sync.Mutex
	run   trainingRun
	saved []Checkpoint
	at    time.Time // of the checkpoints
}

// trainingRun is a server's description of a run (GET /api/v1/training_runs).
type trainingRun struct {
	ID      string    `json:"training_run_id"`
	Model   string    `json:"base_model"`
	Owner   string    `json:"model_owner"`
	LoRA    bool      `json:"is_lora"`
	Rank    int       `json:"lora_rank"`
	Corrupt bool      `json:"corrupted"`
	Last    time.Time `json:"last_request_time"`
}

// Tinker is a Tinker server, by its address and a key.
type Tinker struct {
	URL, Key string
	Notes    string       // the folder for the log of the server's metrics; "": none is kept
	Client   *http.Client // nil: one with a time limit

	mu   sync.Mutex
	host *host
	runs map[string]*remote
}

// maxRuns is how many runs of a server are shown, those used last.
const maxRuns = 200

// Find asks for the server's runs. The server itself is the first, even if it does not answer.
func (t *Tinker) Find(ctx context.Context) ([]Run, error) {
	var list struct {
		Runs []trainingRun `json:"training_runs"`
	}
	err := t.get(ctx, fmt.Sprintf("/api/v1/training_runs?limit=%d", maxRuns), &list)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs, t.host = map[string]*remote{}, &host{server: t}
		if t.Notes != "" {
			t.host.log = hostLog(t.Notes)
		}
	}
	runs := []Run{t.host}
	if err != nil {
		for _, r := range t.runs {
			runs = append(runs, r) // they come back with the server
		}
		return runs, err
	}
	t.host.mu.Lock()
	t.host.models = len(list.Runs)
	t.host.mu.Unlock()
	for _, one := range list.Runs {
		r := t.runs[one.ID]
		if r == nil {
			r = &remote{server: t, id: one.ID}
			t.runs[one.ID] = r
		}
		r.mu.Lock()
		r.run = one
		r.mu.Unlock()
		runs = append(runs, r)
	}
	return runs, nil
}

// mostAnswer is how many bytes a server may answer with.
const mostAnswer = 16 << 20

// get asks for JSON.
func (t *Tinker) get(ctx context.Context, path string, into any) error {
	text, err := t.text(ctx, path)
	if err != nil {
		return err
	}
	if err := bound.Of(mostAnswer).Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("source: %s%s answered no JSON: %w", t.URL, path, err)
	}
	return nil
}

// text asks for a text.
func (t *Tinker) text(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(t.URL, "/")+path, nil)
	if err != nil {
		return "", fmt.Errorf("source: %w", err)
	}
	req.Header.Set("X-API-Key", cmp.Or(t.Key, "tml-local"))
	res, data, err := bound.Of(mostAnswer).Do(cmp.Or(t.Client, http.DefaultClient), req)
	if err != nil {
		return "", fmt.Errorf("source: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("source: %s%s answered %s: %.200s", t.URL, path, res.Status, data)
	}
	return string(data), err
}

// Path implements Run: the server's address and the run's id.
func (r *remote) Path() string { return strings.TrimRight(r.server.URL, "/") + "/" + r.id }

func (r *remote) Kind() Kind                  { return Server }
func (r *remote) Metrics() (path, key string) { return "", "step" }
func (r *remote) Rollouts() rollout.Folder    { return nil }
func (r *remote) Clock() map[int]time.Time    { return nil }

// Refresh implements Live.
func (r *remote) Refresh(ctx context.Context) error {
	r.mu.Lock()
	fresh := time.Since(r.at) < 30*time.Second
	r.mu.Unlock()
	if fresh {
		return nil
	}
	var list struct {
		Checkpoints []struct {
			ID   string    `json:"checkpoint_id"`
			Path string    `json:"tinker_path"`
			Time time.Time `json:"time"`
		} `json:"checkpoints"`
	}
	if err := r.server.get(ctx, "/api/v1/training_runs/"+url.PathEscape(r.id)+"/checkpoints", &list); err != nil {
		return err
	}
	saved := []Checkpoint{}
	for _, c := range list.Checkpoints {
		saved = append(saved, Checkpoint{Name: c.ID, Path: c.Path})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved, r.at = saved, time.Now()
	return nil
}

// Look implements Run. A server does not know whether a loop will send more: one that did lately counts as running.
func (r *remote) Look() Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Look{Name: r.id, Project: r.server.URL, Group: r.run.Owner, Model: r.run.Model, Mode: "server", Step: -1,
		Updated: r.run.Last}
	l.State, l.Why = aged(r.run.Last, false)
	if r.run.Corrupt {
		l.State, l.Why = Killed, "the server says that the run is corrupted"
	}
	return l
}

// Settings implements Run.
func (r *remote) Settings() []Setting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []Setting{{"base_model", r.run.Model, "the server"}, {"is_lora", r.run.LoRA, "the server"},
		{"lora_rank", r.run.Rank, "the server"}}
}

// Checkpoints implements Run.
func (r *remote) Checkpoints() []Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.saved)
}
