package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/endpoints"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// owned is everything that a tenant has an id for.
type owned struct {
	session, run, sampler              string
	created, trained, drawn, abandoned string // futures
	state, weights, external           string // checkpoints
	archive                            string // the path of a download, which is public for a while
	traced                             string // a session whose calls are recorded
}

// all lists the ids, of which another tenant's answer may have none.
func (o *owned) all() []string {
	return []string{o.session, o.run, o.sampler, o.created, o.trained, o.drawn, o.abandoned, o.traced}
}

// newOwned makes one of each for the rig's tenant.
func newOwned(r *rig) *owned {
	o := &owned{session: r.session()}
	o.created = r.promise("/create_model", createModel(o.session, 0))
	o.run = r.result(o.created)["model_id"].(string)
	o.trained = r.promise("/forward_backward", batch(o.run, 1, false))
	save := func(route, name string, seq int64) string {
		id := r.promise(route, map[string]any{"model_id": o.run, "path": name, "seq_id": seq})
		return r.result(id)["path"].(string)
	}
	o.state = save("/save_weights", "a", 2)
	o.weights = save("/save_weights_for_sampler", "b", 3)
	o.external = save("/save_weights_external", "x", 4)
	o.sampler = r.sampler(o.session, 0, map[string]any{"model_path": o.weights})
	o.drawn = r.promise("/asample", asample(o.sampler, 0, nil))
	o.abandoned = r.promise("/asample", asample(o.sampler, 1, nil))
	var u wire.ArchiveURL
	r.get("/training_runs/"+o.run+"/checkpoints/sampler_weights/b/archive", &u)
	at, err := url.Parse(u.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	o.archive = at.Path
	o.traced = "agent-7"
	body := rawJSON(`{"model":"tiny","prompt":[5,6],"max_tokens":2}`)
	if code, _, raw := r.send("POST", "/v1/completions", body, "X-Session-ID", o.traced); code != http.StatusOK {
		r.t.Fatalf("%d %s", code, raw)
	}
	return o
}

// attempt is one request with another tenant's ids.
type attempt struct {
	path string // with the ids
	body any
}

// routeRow says what a route answers to another tenant's ids.
type routeRow struct {
	pattern  string
	want     int // status; 0 is 404, while the owner gets another one
	attempts []attempt
}

// strangerRows has a row for each pattern. Rows that end something of the owner's are last.
func strangerRows(o *owned, own string) []routeRow {
	const v1 = wire.Prefix
	run, body := v1+"/training_runs/"+o.run, func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	rows := slices.Concat(endpointRows(o), tokenRows(o), tracedRows(o))
	return append(rows, []routeRow{
		{"GET " + v1 + "/healthz", 200, []attempt{{v1 + "/healthz", nil}}},
		{"GET /healthz", 200, []attempt{{"/healthz", nil}}},
		{"GET /health", 200, []attempt{{"/health", nil}}},
		{"GET /version", 200, []attempt{{"/version", nil}}},
		{"GET /metrics", 200, []attempt{{"/metrics", nil}}},
		{"GET /tenants", 200, []attempt{{"/tenants", nil}}},
		{"GET " + v1 + "/archive/{token}", 403, []attempt{{v1 + "/archive/" + url.PathEscape(o.weights), nil},
			{v1 + "/archive/" + o.drawn, nil}, {o.archive + "A", nil}}},
		{"POST " + v1 + "/client/config", 200, []attempt{{v1 + "/client/config", body()}}},
		{"POST " + v1 + "/client/dynamic_config", 200, []attempt{{v1 + "/client/dynamic_config", body()}}},
		{"POST " + v1 + "/telemetry", 200, []attempt{{v1 + "/telemetry", body("session_id", o.session)}}},
		{"POST " + v1 + "/create_session", 200, []attempt{{v1 + "/create_session", body("sdk_version", "0.25.0")}}},
		{"POST " + v1 + "/session_heartbeat", 0, []attempt{{v1 + "/session_heartbeat", body("session_id", o.session)}}},
		{"POST " + v1 + "/create_model", 0, []attempt{{v1 + "/create_model", createModel(o.session, 9)}}},
		{"POST " + v1 + "/get_info", 0, []attempt{{v1 + "/get_info", body("model_id", o.run)}}},
		{"POST " + v1 + "/forward_backward", 0, []attempt{{v1 + "/forward_backward", batch(o.run, 5, false)}}},
		{"POST " + v1 + "/forward", 0, []attempt{{v1 + "/forward", batch(o.run, 6, true)}}},
		{"POST " + v1 + "/optim_step", 0, []attempt{{v1 + "/optim_step", step(o.run, 7)}}},
		{"POST " + v1 + "/save_weights", 0, []attempt{
			{v1 + "/save_weights", body("model_id", o.run, "path", "z", "seq_id", 8)}}},
		{"POST " + v1 + "/save_weights_for_sampler", 0, []attempt{
			{v1 + "/save_weights_for_sampler", body("model_id", o.run, "path", "z", "seq_id", 9)},
			{v1 + "/save_weights_for_sampler", body("model_id", o.run, "seq_id", 10, "sampling_session_seq_id", 3)}}},
		{"POST " + v1 + "/save_weights_external", 0, []attempt{
			{v1 + "/save_weights_external", body("model_id", o.run, "path", "z", "seq_id", 11)}}},
		{"POST " + v1 + "/load_weights", 0, []attempt{
			{v1 + "/load_weights", body("model_id", o.run, "path", o.state, "seq_id", 12)},
			{v1 + "/load_weights", body("session_id", own, "model_seq_id", 0, "path", o.state)},
			{v1 + "/load_weights", body("session_id", o.session, "model_seq_id", 7, "path", o.state)}}},
		{"POST " + v1 + "/create_sampling_session", 0, []attempt{
			{v1 + "/create_sampling_session", body("session_id", o.session, "sampling_session_seq_id", 5,
				"base_model", "tiny")},
			{v1 + "/create_sampling_session", body("session_id", own, "sampling_session_seq_id", 1,
				"model_path", o.weights)},
			{v1 + "/create_sampling_session", body("session_id", own, "sampling_session_seq_id", 2,
				"model_path", o.state)}}},
		{"GET " + v1 + "/samplers/{id}", 0, []attempt{{v1 + "/samplers/" + o.sampler, nil}}},
		{"POST " + v1 + "/asample", 0, []attempt{{v1 + "/asample", asample(o.sampler, 7, nil)},
			{v1 + "/asample", asample(o.sampler, 0, nil)}}},
		{"POST " + v1 + "/retrieve_future", 0, []attempt{
			{v1 + "/retrieve_future", body("request_id", o.created)},
			{v1 + "/retrieve_future", body("request_id", o.trained)},
			{v1 + "/retrieve_future", body("request_id", o.drawn)}}},
		{"POST " + v1 + "/retrieve_futures", 0, []attempt{
			{v1 + "/retrieve_futures", body("target", body("sampling_session_id", o.sampler))}}},
		{"POST " + v1 + "/join_sampling_session", 0, []attempt{
			{v1 + "/join_sampling_session", body("sampling_session_id", o.sampler)}}},
		{"GET " + v1 + "/get_server_capabilities", 200, []attempt{{v1 + "/get_server_capabilities", nil}}},
		{"POST " + v1 + "/weights_info", 0, []attempt{{v1 + "/weights_info", body("tinker_path", o.state)},
			{v1 + "/weights_info", body("tinker_path", o.weights)},
			{v1 + "/weights_info", body("tinker_path", o.external)}}},
		{"GET " + v1 + "/training_runs", 200, []attempt{{v1 + "/training_runs", nil}}},
		{"GET " + v1 + "/training_runs/{run}", 0, []attempt{{run, nil}}},
		{"GET " + v1 + "/training_runs/{run}/checkpoints", 0, []attempt{{run + "/checkpoints", nil}}},
		{"GET " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}/archive", 0, []attempt{
			{run + "/checkpoints/weights/a/archive", nil}, {run + "/checkpoints/sampler_weights/b/archive", nil}}},
		{"GET " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}/external_weights_urls", 0, []attempt{
			{run + "/checkpoints/external_weights/x/external_weights_urls", nil}}},
		{"POST " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}/publish", 0, []attempt{
			{run + "/checkpoints/weights/a/publish", nil}}},
		{"DELETE " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}/publish", 0, []attempt{
			{run + "/checkpoints/weights/a/publish", nil}}},
		{"PUT " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}/ttl", 0, []attempt{
			{run + "/checkpoints/weights/a/ttl", body("ttl_seconds", 600)}}},
		{"DELETE " + v1 + "/training_runs/{run}/checkpoints/{name}", 400, []attempt{{run + "/checkpoints/a", nil}}},
		{"GET " + v1 + "/training_runs/{run}/checkpoints/{name}/archive", 400, []attempt{
			{run + "/checkpoints/a/archive", nil}}},
		{"GET " + v1 + "/checkpoints", 200, []attempt{{v1 + "/checkpoints", nil}}},
		{"GET " + v1 + "/sessions", 200, []attempt{{v1 + "/sessions", nil}}},
		{"GET " + v1 + "/sessions/{id}", 0, []attempt{{v1 + "/sessions/" + o.session, nil}}},
		{"POST " + v1 + "/auth/token", 422, []attempt{{v1 + "/auth/token", nil}}},
		{"GET " + v1 + "/auth/apikey/me", 422, []attempt{{v1 + "/auth/apikey/me", nil}}},
		{"DELETE " + v1 + "/auth/apikey/me", 422, []attempt{{v1 + "/auth/apikey/me", nil}}},
		{"POST " + v1 + "/create_custom_loss", 422, []attempt{{v1 + "/create_custom_loss", nil}}},
		{"POST " + v1 + "/copy_weights", 0, []attempt{
			{v1 + "/copy_weights", body("source_path", o.state, "destination_project_id", "p")},
			{v1 + "/copy_weights", body("source_path", o.external, "destination_project_id", "p")},
			{v1 + "/copy_weights", body("source_path", o.weights, "session_id", o.session, "model_seq_id", 3)}}},
		{"POST " + v1 + "/sessions/search", 200, []attempt{
			{v1 + "/sessions/search", body("owner", body("type", "accessible"))},
			{v1 + "/sessions/search", body("session_id", o.session)}}},
		{"PUT " + v1 + "/sessions/{id}/project", 0, []attempt{
			{v1 + "/sessions/" + o.session + "/project", body("project_id", "p")}}},
		{"GET " + v1 + "/sessions/{id}/trace_export", 0, []attempt{
			{v1 + "/sessions/" + o.session + "/trace_export", nil}}},
		{"GET " + v1 + "/traces/{token}", 403, []attempt{{v1 + "/traces/" + o.drawn, nil},
			{strings.Replace(o.archive, "/archive/", "/traces/", 1), nil}}},
		{"GET " + v1 + "/audit", 422, []attempt{{v1 + "/audit", nil}}},
		{"GET " + v1 + "/billing/usage/events", 422, []attempt{{v1 + "/billing/usage/events", nil}}},
		{"GET " + v1 + "/billing/usage/checkpoints/current", 422, []attempt{
			{v1 + "/billing/usage/checkpoints/current", nil}}},
		{"GET /{$}", 200, []attempt{{"/", nil}}},
		{"GET /api/tags", 200, []attempt{{"/api/tags", nil}}},
		{"GET /api/ps", 200, []attempt{{"/api/ps", nil}}},
		{"GET /api/version", 200, []attempt{{"/api/version", nil}}},
		{"GET /api/models/{repo...}", 404, []attempt{{"/api/models/" + o.run, nil}}},
		{"GET /{path...}", 404, []attempt{{"/" + o.run + "/resolve/main/adapter_config.json", nil},
			{"/" + o.run, nil}}},
		{"/", 404, []attempt{{"/" + o.run, body()}}},
		// what follows ends something
		{"POST " + v1 + "/cancel_future", 404, []attempt{{v1 + "/cancel_future", body("request_id", o.trained)}}},
		{"POST " + v1 + "/cancel_future", 0, []attempt{{v1 + "/cancel_future", body("request_id", o.abandoned)}}},
		{"DELETE " + v1 + "/training_runs/{run}/checkpoints/{kind}/{name}", 0, []attempt{
			{run + "/checkpoints/weights/a", nil}, {run + "/checkpoints/sampler_weights/b", nil},
			{run + "/checkpoints/external_weights/x", nil}}},
		{"DELETE /sessions/{session}", 0, []attempt{{"/sessions/" + o.traced, nil}}},
		{"POST " + v1 + "/unload_model", 0, []attempt{{v1 + "/unload_model", body("model_id", o.run)}}},
		{"POST " + v1 + "/sessions/{id}/finish", 0, []attempt{{v1 + "/sessions/" + o.session + "/finish", body()}}},
	}...)
}

// asks are the bodies of requests for another tenant's checkpoints in every form of their names.
func (o *owned) asks(path, rest string) (list []attempt) {
	for _, name := range []string{o.state, o.weights, "tiny;" + o.weights, "small;" + o.state} {
		list = append(list, attempt{path, rawJSON(`{"model":"` + name + `",` + rest + `}`)})
	}
	return list
}

// endpointRows are the routes that answer with samples, and the lists of models.
func endpointRows(o *owned) (rows []routeRow) {
	const chat, text, limit = `"messages":[{"role":"user","content":"Hi"}]`, `"prompt":"Hi"`, `,"max_tokens":2`
	const input, ids = `"input":"Hi","max_output_tokens":20`, `,"tokens":[5,6]`
	for path, rest := range map[string]string{
		"/oai/api/v1/chat/completions": chat + limit, "/v1/chat/completions": chat + limit,
		"/oai/api/v1/chat/completions/tokens": chat + limit + ids, "/v1/chat/completions/tokens": chat + limit + ids,
		"/oai/api/v1/completions": text + limit, "/v1/completions": text + limit,
		"/oai/api/v1/responses": input, "/v1/responses": input,
		"/anthropic/api/v1/messages": chat + limit, "/v1/messages": chat + limit,
		"/anthropic/api/v1/messages/count_tokens": chat, "/v1/messages/count_tokens": chat,
		"/api/chat": chat, "/api/generate": text, "/api/show": `"verbose":false`,
	} {
		rows = append(rows, routeRow{"POST " + path, 0, o.asks(path, rest)})
	}
	for _, path := range []string{"/v1/embeddings", "/oai/api/v1/embeddings", "/api/embed", "/api/embeddings"} {
		rows = append(rows, routeRow{"POST " + path, 404, o.asks(path, `"input":"Hi"`)})
	}
	for _, prefix := range []string{"/anthropic/api/v1", "/oai/api/v1", "/v1"} {
		rows = append(rows, routeRow{"GET " + prefix + "/models", 200, []attempt{{prefix + "/models", nil}}},
			routeRow{"GET " + prefix + "/models/{name...}", 0, []attempt{
				{prefix + "/models/" + url.PathEscape(o.weights), nil}}})
	}
	return rows
}

// tokenRows are vLLM's routes of tokens.
func tokenRows(o *owned) (rows []routeRow) {
	for _, prefix := range endpoints.TokensAt {
		rows = append(rows, routeRow{"POST " + prefix + "/tokenize", 0, o.asks(prefix+"/tokenize", `"prompt":"Hi"`)},
			routeRow{"POST " + prefix + "/detokenize", 0, o.asks(prefix+"/detokenize", `"tokens":[5,6]`)},
			routeRow{"GET " + prefix + "/tokenizer_info", 0, []attempt{
				{prefix + "/tokenizer_info?model=" + url.QueryEscape(o.weights), nil}}})
	}
	for _, prefix := range []string{"", "/oai/api"} {
		path := prefix + "/inference/v1/generate"
		rows = append(rows, routeRow{"POST " + path, 0,
			o.asks(path, `"token_ids":[5,6],"sampling_params":{"max_tokens":2}`)})
	}
	return rows
}

// tracedRows are the URLs of sessions whose calls are recorded.
func tracedRows(o *owned) (rows []routeRow) {
	const chat, text, limit = `"messages":[{"role":"user","content":"Hi"}]`, `"prompt":"Hi"`, `,"max_tokens":2`
	for _, kind := range []string{"/sessions/", "/rollouts/"} {
		at := kind + o.traced
		for path, rest := range map[string]string{
			"/v1/chat/completions": chat + limit, "/v1/chat/completions/tokens": chat + limit + `,"tokens":[5,6]`,
			"/v1/completions": text + limit, "/v1/responses": `"input":"Hi","max_output_tokens":20`,
			"/v1/messages": chat + limit, "/v1/messages/count_tokens": chat,
			"/inference/v1/generate": `"token_ids":[5,6],"sampling_params":{"max_tokens":2}`,
		} {
			rows = append(rows, routeRow{"POST " + kind + "{session}" + path, 0, o.asks(at+path, rest)})
		}
		rows = append(rows, routeRow{"GET " + kind + "{session}/v1/models", 200, []attempt{{at + "/v1/models", nil}}},
			routeRow{"GET " + kind + "{session}/traces", 0, []attempt{{at + "/traces", nil}}})
	}
	return append(rows, routeRow{"DELETE /rollouts/{session}", 404, []attempt{{"/rollouts/agent-8", nil}}})
}

// Over every route, another tenant's ids are unknown, and no answer shows them. The owner's requests are the same, so
// that a row with a wrong path or body fails too. A new route needs a row.
func TestEveryRouteKeepsTenantsApart(t *testing.T) {
	r := newEndpoint(t)
	o := newOwned(r)
	bob := r.as("tml-bob")
	rows := strangerRows(o, bob.session())
	var patterns []string
	for _, row := range rows {
		patterns = append(patterns, row.pattern)
		for _, a := range row.attempts {
			method := methodOf(row.pattern)
			q, err := http.NewRequest(method, r.web.URL+a.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, pattern := r.server.edge.Mux.Handler(q); pattern != row.pattern {
				t.Errorf("%s %s is of route %q, not %q", method, a.path, pattern, row.pattern)
			}
			want := row.want
			if want == 0 {
				want = http.StatusNotFound
			}
			code, _, raw := bob.send(method, a.path, a.body)
			if code != want {
				t.Errorf("%s %s of another tenant: %d %s, want %d", method, a.path, code, raw, want)
			}
			for _, id := range o.all() {
				if code == http.StatusOK && strings.Contains(string(raw), id) {
					t.Errorf("%s %s shows another tenant %s: %s", method, a.path, id, raw)
				}
			}
		}
	}
	registered := slices.Clone(r.server.edge.Mux.Patterns)
	slices.Sort(registered)
	slices.Sort(patterns)
	if !slices.Equal(registered, slices.Compact(patterns)) {
		for _, p := range registered {
			if !slices.Contains(patterns, p) {
				t.Errorf("%s has no row in strangerRows", p)
			}
		}
		for _, p := range patterns {
			if !slices.Contains(registered, p) {
				t.Errorf("%s has a row and is no route", p)
			}
		}
	}
	ownerIsServed(t, r, o)
}

// ownerIsServed checks that the owner's ids are known over the same requests, after another tenant tried them.
func ownerIsServed(t *testing.T, r *rig, o *owned) {
	for _, row := range strangerRows(o, r.session()) {
		for _, a := range row.attempts {
			if row.want != 0 {
				continue
			}
			code, _, raw := r.send(methodOf(row.pattern), a.path, a.body)
			if code != http.StatusOK {
				t.Errorf("%s: %s of the owner: %d %s", row.pattern, a.path, code, raw)
			}
		}
	}
}

// methodOf is the method of a pattern; POST if it has none.
func methodOf(pattern string) string {
	if method, _, ok := strings.Cut(pattern, " "); ok {
		return method
	}
	return http.MethodPost
}
