package proxy

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// routes adds the URLs of rollouts to m.
func (d *handler) routes(m *http.ServeMux) {
	m.HandleFunc("POST /rollouts/next", d.next)
	m.HandleFunc("POST /sessions", d.create)
	m.HandleFunc("POST /traces/query", d.query)
	m.HandleFunc("/rollouts/", d.under("/rollouts/"))
	m.HandleFunc("/sessions/", d.under("/sessions/"))
	m.HandleFunc("/proxy/rollout/", d.lightning("/proxy/rollout/"))
	m.HandleFunc("/api/rollouts/", d.lightning("/api/rollouts/"))
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { d.fail(w, unknownPath(r)) })
}

// under serves the paths below a prefix and the id of a rollout, which may have slashes: after the last /v1/ there is
// a path of OpenAI's interface. feedback and traces are found beside v1 and below it.
func (d *handler) under(prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rest := strings.TrimPrefix(r.URL.Path, prefix)
		head, last := path.Split(rest)
		id := strings.TrimSuffix(strings.TrimSuffix(head, "/"), "/v1")
		v1 := strings.LastIndex(rest, "/v1/")
		switch {
		case prefix == "/sessions/" && r.Method == http.MethodDelete:
			d.drop(w, r, rest)
		case id != "" && last == "feedback" && r.Method == http.MethodPost:
			d.feedback(w, r, id)
		case id != "" && last == "traces" && r.Method == http.MethodGet:
			d.traces(w, r, id)
		case v1 > 0:
			d.model(w, r, rest[:v1], rest[v1+len("/v1/"):])
		default:
			d.fail(w, unknownPath(r))
		}
	}
}

// lightning serves Agent Lightning's URLs: {id}/attempt/{n}/mode/{m}/openai/v1/… for calls, {id}/attempt/{n}/events for
// rewards.
func (d *handler) lightning(prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rest := strings.TrimPrefix(r.URL.Path, prefix)
		head, below, calls := strings.Cut(rest, "/openai/v1/")
		if at := strings.LastIndex(head, "/mode/"); calls && at > 0 {
			head = head[:at]
		} else if calls {
			d.fail(w, unknownPath(r))
			return
		}
		events := false
		if !calls {
			head, events = strings.CutSuffix(head, "/events")
		}
		at := strings.LastIndex(head, "/attempt/")
		if at <= 0 || calls != (prefix == "/proxy/rollout/") || !calls && (!events || r.Method != http.MethodPost) {
			d.fail(w, unknownPath(r))
			return
		}
		id := d.attempt(head[:at], head[at+len("/attempt/"):])
		if calls {
			d.model(w, r, id, below)
		} else {
			d.event(w, r, id)
		}
	}
}

// attempt is the id of an attempt at a rollout: if rollouts begin with their first call, each attempt is one.
func (d *handler) attempt(id, n string) string {
	if d.calls.begin == nil {
		return id
	}
	return id + "/attempt/" + n
}

func unknownPath(r *http.Request) error {
	return problem(http.StatusNotFound, "unknown_url", "%s %s is not served; below the URL of a rollout there are "+
		"v1/chat/completions (and /tokens), v1/completions, v1/responses, v1/messages, v1/models, "+
		"inference/v1/generate, feedback and traces", r.Method, r.URL.Path)
}

// model serves a path of OpenAI's interface for a rollout.
func (d *handler) model(w http.ResponseWriter, r *http.Request, id, below string) {
	m := &rolloutModels{handler: d, id: id, session: r.Header.Get(session)}
	api := endpoint.New(m, d.now)
	if head, ok := strings.CutSuffix(id, "/inference"); ok && below == "generate" {
		m.id, below = head, "inference/v1/generate"
	}
	routes := api.Routes()
	at := slices.IndexFunc(routes, func(r endpoint.Route) bool { return belowV1(r) == below })
	switch {
	case r.Method == http.MethodPost && at >= 0:
		d.post(m.ended(routes[at].Answer))(w, r)
	case r.Method == http.MethodGet && below == "models":
		d.sendModels(w, r, api)
	default:
		d.fail(w, unknownPath(r))
	}
}

// sendModels answers with the models, in the form of the client that asks.
func (d *handler) sendModels(w http.ResponseWriter, r *http.Request, api *endpoint.API) {
	if err := api.ListFor(w, r, ""); err != nil {
		d.fail(w, err)
	}
}

// belowV1 is the path of a route below v1. generate has its path below the root.
func belowV1(r endpoint.Route) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Path, "/v1"), "/")
}

// next hands out a rollout that nobody has taken.
func (d *handler) next(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Wait float64 `json:"wait"` // seconds
	}
	if err := d.readIfAny(r, &in); err != nil {
		d.fail(w, err)
		return
	}
	if !d.calls.work {
		d.fail(w, problem(http.StatusNotFound, "no_work", "this run hands out no rollouts: no taskset that it "+
			"explores has default_workflow_type: rollout_workflow"))
		return
	}
	if in.Wait < 0 || in.Wait > longestWait.Seconds() {
		d.fail(w, bad("wait is %v; it must be 0 to %v seconds", in.Wait, longestWait.Seconds()))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(in.Wait*float64(time.Second)))
	defer cancel()
	defer context.AfterFunc(d.closing, cancel)()
	one := d.calls.take(ctx)
	if one == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	reply(w, http.StatusOK, map[string]any{"rollout_id": one.id, "base_url": urlOf(r, "rollouts", one.id),
		"task": one.task, "is_eval": one.eval})
}

// longestWait is the most for wait.
const longestWait = 10 * time.Minute

// urlOf is the base URL of a rollout, at the address that the program uses.
func urlOf(r *http.Request, kind, id string) string {
	u := url.URL{Scheme: "http", Host: r.Host, Path: "/" + kind + "/" + id + "/v1"}
	return u.String()
}

// feedback gives a rollout its reward.
func (d *handler) feedback(w http.ResponseWriter, r *http.Request, id string) {
	var in struct {
		Reward *float64 `json:"reward"`
		Value  *float64 `json:"value"`
		Task   string   `json:"task_id"`
		Run    int      `json:"run_id"`
	}
	if err := d.read(r, &in); err != nil {
		d.fail(w, err)
		return
	}
	given := cmp.Or(in.Reward, in.Value)
	if given == nil {
		d.fail(w, bad("reward is missing; send {\"reward\": 1}"))
		return
	}
	d.grade(w, r, id, grade{reward: *given, task: in.Task, run: in.Run})
}

// event takes Agent Lightning's reward events.
func (d *handler) event(w http.ResponseWriter, r *http.Request, id string) {
	var in struct {
		Type string `json:"event_type"`
		Data struct {
			Value *float64 `json:"value"`
		} `json:"data"`
	}
	if err := d.read(r, &in); err != nil {
		d.fail(w, err)
		return
	}
	if in.Type != "reward" || in.Data.Value == nil {
		d.fail(w, bad("the event is of type %q; only reward is read, with data.value", in.Type))
		return
	}
	d.grade(w, r, id, grade{reward: *in.Data.Value})
}

func (d *handler) grade(w http.ResponseWriter, r *http.Request, id string, g grade) {
	one, err := d.calls.find(r.Context(), id, false)
	if err == nil {
		err = d.reward(r.Context(), one, g)
	}
	d.answerReward(w, err)
}

// answerReward tells a program whether its reward was taken.
func (d *handler) answerReward(w http.ResponseWriter, err error) {
	if err != nil {
		d.fail(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"status": "success", "experiences": 1})
}

// reward gives a rollout its reward and forgets its calls.
func (d *handler) reward(ctx context.Context, one *rollout, g grade) error {
	if err := one.reward(context.WithoutCancel(ctx), g); err != nil { // a reward is given whole or not at all
		return err
	}
	d.calls.remove(one, one.over())
	return nil
}
