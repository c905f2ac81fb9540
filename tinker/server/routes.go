package server

import (
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/endpoints"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// routes is the table of everything that is served.
func (s *Server) routes() {
	on, mux := s.edge.On, s.edge.Mux
	const v1 = wire.Prefix
	mux.HandleFunc("GET "+v1+"/healthz", s.health)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /health", s.health) // as vLLM and llama.cpp name it
	mux.HandleFunc("GET /version", s.version)
	mux.HandleFunc("GET "+v1+"/archive/{token}", s.saved.Download)
	mux.HandleFunc("GET "+v1+"/traces/{token}", s.sessions.Trace)
	mux.HandleFunc("GET /metrics", s.metrics)
	on("GET /tenants", edge.NoBody, s.tenants)
	on("POST "+v1+"/client/config", edge.NoBody, s.sessions.ClientConfig)
	on("POST "+v1+"/client/dynamic_config", edge.NoBody, s.sessions.DynamicConfig)
	on("POST "+v1+"/telemetry", edge.IgnoredBody, s.sessions.Telemetry)
	on("POST "+v1+"/create_session", edge.SmallBody, edge.Decoded(s.sessions.CreateSession))
	on("POST "+v1+"/session_heartbeat", edge.SmallBody, edge.Decoded(s.sessions.Heartbeat))
	on("POST "+v1+"/create_model", edge.SmallBody, edge.Decoded(s.runs.CreateModel))
	on("POST "+v1+"/get_info", edge.SmallBody, edge.Decoded(s.runs.GetInfo))
	on("POST "+v1+"/unload_model", edge.SmallBody, edge.Decoded(s.runs.UnloadModel))
	on("POST "+v1+"/forward_backward", edge.LargeTraining, s.runs.ForwardBackward)
	on("POST "+v1+"/forward", edge.LargeTraining, s.runs.ForwardBackward)
	on("POST "+v1+"/optim_step", edge.SmallTraining, edge.Decoded(s.runs.OptimStep))
	on("POST "+v1+"/save_weights", edge.SmallTraining, edge.Decoded(s.runs.SaveWeights))
	on("POST "+v1+"/save_weights_for_sampler", edge.SmallTraining, edge.Decoded(s.runs.SaveForSampler))
	on("POST "+v1+"/save_weights_external", edge.SmallTraining, edge.Decoded(s.runs.SaveExternal))
	on("POST "+v1+"/load_weights", edge.SmallTraining, edge.Decoded(s.runs.LoadWeights))
	on("POST "+v1+"/create_sampling_session", edge.SmallBody, edge.Decoded(s.samplers.CreateSampler))
	on("GET "+v1+"/samplers/{id}", edge.NoBody, s.samplers.GetSampler)
	on("POST "+v1+"/asample", edge.LargeBody, s.samplers.Sample)
	on("POST "+v1+"/retrieve_future", edge.SmallBody, edge.Decoded(s.futures.Retrieve))
	on("POST "+v1+"/retrieve_futures", edge.SmallBody, edge.Decoded(s.futures.RetrieveMany))
	on("POST "+v1+"/cancel_future", edge.SmallBody, edge.Decoded(s.futures.CancelFuture))
	on("POST "+v1+"/join_sampling_session", edge.SmallBody, edge.Decoded(s.samplers.JoinSampler))
	on("GET "+v1+"/get_server_capabilities", edge.NoBody, s.names.Capabilities)
	on("POST "+v1+"/weights_info", edge.SmallBody, edge.Decoded(s.saved.WeightsInfo))
	on("GET "+v1+"/training_runs", edge.NoBody, s.runs.ListRuns)
	on("GET "+v1+"/training_runs/{run}", edge.NoBody, s.runs.GetRun)
	on("GET "+v1+"/training_runs/{run}/checkpoints", edge.NoBody, s.saved.RunCheckpoints)
	const one = v1 + "/training_runs/{run}/checkpoints/{kind}/{name}"
	on("DELETE "+one, edge.NoBody, s.saved.DeleteCheckpoint)
	on("GET "+one+"/archive", edge.NoBody, s.saved.ArchiveURL)
	on("GET "+one+"/external_weights_urls", edge.NoBody, s.saved.ExternalURLs)
	on("POST "+one+"/publish", edge.NoBody, s.saved.Publish)
	on("DELETE "+one+"/publish", edge.NoBody, s.saved.Unpublish)
	on("PUT "+one+"/ttl", edge.SmallBody, edge.Decoded(s.saved.SetTTL))
	const bare = v1 + "/training_runs/{run}/checkpoints/{name}"
	on("DELETE "+bare, edge.NoBody, s.saved.BareID)
	on("GET "+bare+"/archive", edge.NoBody, s.saved.BareID)
	on("GET "+v1+"/checkpoints", edge.NoBody, s.saved.ListCheckpoints)
	on("GET "+v1+"/sessions", edge.NoBody, s.sessions.ListSessions)
	on("GET "+v1+"/sessions/{id}", edge.NoBody, s.sessions.GetSession)
	on("POST "+v1+"/sessions/search", edge.SmallBody, edge.Decoded(s.sessions.SearchSessions))
	on("PUT "+v1+"/sessions/{id}/project", edge.SmallBody, edge.Decoded(s.sessions.AssignProject))
	on("GET "+v1+"/sessions/{id}/trace_export", edge.NoBody, s.sessions.ExportTrace)
	on("POST "+v1+"/copy_weights", edge.SmallBody, edge.Decoded(s.runs.CopyWeights))
	on("POST "+v1+"/sessions/{id}/finish", edge.SmallBody, edge.Decoded(s.sessions.FinishSession))
	for pattern, reason := range refusals() {
		on(pattern, edge.NoBody, refuse(reason))
	}
	s.endpoints.Routes()
	other := s.edge.Other("other", edge.NoBody, endpoints.Unknown, s.endpoints.Fail)
	mux.HandleFunc("GET /api/models/{repo...}", s.names.Describe)
	mux.HandleFunc("GET /{path...}", func(w http.ResponseWriter, r *http.Request) { s.names.Resolve(w, r, other) })
	mux.Handle("/", other)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.life.Closing() {
		edge.Reply(w, http.StatusServiceUnavailable, map[string]string{"status": "closing"})
		return
	}
	if err := s.capacity.Writable(); err != nil {
		edge.Reply(w, http.StatusServiceUnavailable, map[string]string{"status": err.Error()})
		return
	}
	edge.Reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	edge.Reply(w, http.StatusOK, map[string]string{"version": s.opts.Version})
}

// metrics serves /metrics to every client with a known key, and to local clients if any key is accepted.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	err := s.edge.NoKey()
	if !s.edge.Keyed() || s.edge.Authenticate(r) != "" {
		err = s.stats.Serve(w, r)
	}
	if err != nil {
		s.edge.Fail(w, r, err)
	}
}

// refusals lists the routes of the protocol that a server on one machine does not offer, with the reason for users.
func refusals() map[string]string {
	const v1 = wire.Prefix
	return map[string]string{
		"POST " + v1 +
			"/auth/token": "keys are not exchanged for tokens here: send the key itself (pjwt_auth_enabled is false)",
		"GET " + v1 +
			"/auth/apikey/me": "the operator of this server keeps the keys: trinity serve key list",
		"DELETE " + v1 +
			"/auth/apikey/me": "the operator of this server keeps the keys: trinity serve key revoke",
		"POST " + v1 +
			"/create_custom_loss": "custom losses run at the client (custom_loss_server_side is false)",
		"GET " + v1 +
			"/audit": "this server keeps no audit log; its own log says who did what",
		"GET " + v1 + "/billing/usage/events": "nothing is billed here",
		"GET " + v1 +
			"/billing/usage/checkpoints/current": "nothing is billed here; the list of checkpoints has their sizes",
	}
}

// refuse answers with a reason, in a status that the SDK does not try again.
func refuse(reason string) func(*edge.Call) (any, error) {
	return func(c *edge.Call) (any, error) {
		return nil, edge.Status(http.StatusUnprocessableEntity, "%s is not served by this server: %s",
			c.R.URL.Path, reason)
	}
}
