package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// routes is everything that is served; openapi.json describes it.
func (s *Studio) routes() *http.ServeMux {
	mux := http.NewServeMux()
	table := map[string]handler{
		"GET /api/runs":                              s.list,
		"PUT /api/runs/{run}/tags":                   s.of((*Studio).setTags),
		"GET /api/runs/{run}":                        s.of((*Studio).detail),
		"GET /api/runs/{run}/metrics":                s.of((*Studio).metrics),
		"GET /api/runs/{run}/timeline":               s.of((*Studio).timeline),
		"GET /api/runs/{run}/steps":                  s.of((*Studio).steps),
		"GET /api/runs/{run}/samples":                s.of((*Studio).samples),
		"GET /api/runs/{run}/histogram":              s.of((*Studio).histogram),
		"GET /api/runs/{run}/samples/{sample}":       s.of((*Studio).sample),
		"GET /api/runs/{run}/groups/{step}/{task}":   s.of((*Studio).group),
		"GET /api/runs/{run}/checkpoints":            s.of((*Studio).checkpoints),
		"GET /api/runs/{run}/export":                 s.of((*Studio).export),
		"POST /api/runs/{run}/ask":                   s.of((*Studio).ask),
		"GET /api/runs/{run}/samples/{sample}/score": s.of((*Studio).score),
		"GET /api/runs/{run}/report":                 s.of((*Studio).report),
		"GET /api/openapi.json":                      s.openapi,
		"GET /api/tasks":                             s.tasks,
		"GET /api/compare":                           s.compare,
		"GET /api/events":                            s.stream,
	}
	s.served = len(table)
	table["/api/"] = s.nowhere
	for pattern, h := range table {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	s.pages(mux)
	return mux
}

type handler func(w http.ResponseWriter, r *http.Request) error

// of finds the run that a path names.
func (s *Studio) of(h func(*Studio, *entry, http.ResponseWriter, *http.Request) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		e := s.runs.get(r.PathValue("run"))
		if e == nil {
			return noRun(r.PathValue("run"))
		}
		return h(s, e, w, r)
	}
}

func noRun(id string) error {
	return refusal{http.StatusNotFound, "not_found", fmt.Sprintf("studio: there is no run %q; it may have been moved; "+
		"/api/runs lists the runs", id)}
}

func (s *Studio) nowhere(_ http.ResponseWriter, r *http.Request) error {
	return refusal{http.StatusNotFound, "not_found", fmt.Sprintf("studio: nothing is at %s %s; /api/openapi.json "+
		"describes what there is", r.Method, r.URL.Path)}
}

// refusal is an error with its status.
type refusal struct {
	status     int
	kind, text string
}

func (r refusal) Error() string { return r.text }

// invalid is a refusal of what a client asked.
func invalid(format string, args ...any) error {
	return refusal{http.StatusBadRequest, "invalid_request", "studio: " + fmt.Sprintf(format, args...)}
}

func (s *Studio) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known refusal
	var p *web.Problem
	switch {
	case errors.As(err, &known):
	case errors.As(err, &p):
		known = refusal{p.Status, "invalid_request", "studio: " + p.Error()}
	default:
		known = refusal{http.StatusInternalServerError, "internal", err.Error()}
		s.opts.Log.Warn("a request failed", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(known.status)
	body := map[string]any{"error": map[string]string{"type": known.kind, "message": known.text}}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		return // the client left
	}
}

// answer writes JSON.
func answer(w http.ResponseWriter, v any) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("studio: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(data.Bytes()) // an error means that the client left
	return nil
}

// body reads a request's JSON.
func body(r *http.Request, v any) error {
	data, err := web.ReadSmall(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return invalid("the body is no JSON as it is described in /api/openapi.json: %v", err)
	}
	return nil
}

// asked reads parameters; the first that is wrong is kept.
type asked struct {
	values url.Values
	err    error
}

func (a *asked) int(name string, missing int) int {
	if v := a.optInt(name); v != nil {
		return *v
	}
	return missing
}

func (a *asked) optInt(name string) *int { return parsed(a, name, "no whole number", strconv.Atoi) }

func (a *asked) float(name string) *float64 {
	return parsed(a, name, "no number", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
}

func (a *asked) bool(name string) *bool { return parsed(a, name, "neither 0 nor 1", strconv.ParseBool) }

// parsed is a parameter's value, nil if it is missing. wrong says what a text is that parse refuses.
func parsed[T any](a *asked, name, wrong string, parse func(text string) (T, error)) *T {
	text := a.values.Get(name)
	if text == "" {
		return nil
	}
	v, err := parse(text)
	if err != nil {
		a.err = cmp.Or(a.err, invalid("%s=%q is %s", name, text, wrong))
		return nil
	}
	return &v
}

// filter reads which rows are wanted.
func (a *asked) filter() *rollout.Filter {
	f := &rollout.Filter{Set: a.values.Get("set"), Groups: nonEmpty(a.values["task"]), Stop: a.values.Get("stop"),
		Repeat: a.optInt("repeat"), RewardMin: a.float("reward_min"), RewardMax: a.float("reward_max"),
		Signal: a.bool("signal"), Version: a.optInt("version"), ToolsMin: a.optInt("tools_min"),
		TurnsMin: a.optInt("turns_min"), LengthMin: a.optInt("length_min"), LengthMax: a.optInt("length_max")}
	if open := a.bool("reward_open"); open == nil || !*open {
		f.Closed = true
	}
	for _, text := range nonEmpty(a.values["step"]) {
		step, err := strconv.Atoi(text)
		if err != nil {
			a.err = cmp.Or(a.err, invalid("step=%q is no whole number", text))
		}
		f.Steps = append(f.Steps, step)
	}
	for _, text := range nonEmpty(a.values["key"]) {
		key, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			a.err = cmp.Or(a.err, invalid("key=%q is no key of a task: it has up to 16 hexadecimal digits", text))
		}
		f.Keys = append(f.Keys, key)
	}
	return f
}

func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// match reads what is searched for; nil: nothing is.
func (a *asked) match() *rollout.Match {
	text, pattern := a.values.Get("q"), a.values.Get("regex")
	switch {
	case text != "" && pattern != "":
		a.err = cmp.Or(a.err, invalid("q and regex exclude each other"))
	case text != "":
		return rollout.TextMatch(text)
	case pattern != "":
		m, err := rollout.PatternMatch(pattern)
		if err != nil {
			a.err = cmp.Or(a.err, invalid("regex=%q is no regular expression: %v", pattern, err))
			return nil
		}
		return m
	}
	return nil
}
