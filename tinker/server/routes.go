package server

import (
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// routes is the table of everything that is served.
func (s *Server) routes() {
	on, mux := s.edge.on, s.edge.mux
	const v1 = wire.Prefix
	mux.HandleFunc("GET "+v1+"/healthz", s.health)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /health", s.health) // as vLLM and llama.cpp name it
	mux.HandleFunc("GET /version", s.version)
	mux.HandleFunc("GET "+v1+"/archive/{token}", s.saved.download)
	mux.HandleFunc("GET /metrics", s.metrics)
	on("GET /tenants", noBody, s.tenants)
	on("POST "+v1+"/client/config", noBody, s.sessions.clientConfig)
	on("POST "+v1+"/client/dynamic_config", noBody, s.sessions.dynamicConfig)
	on("POST "+v1+"/telemetry", ignoredBody, s.sessions.telemetry)
	on("POST "+v1+"/create_session", smallBody, decoded(s.sessions.createSession))
	on("POST "+v1+"/session_heartbeat", smallBody, decoded(s.sessions.heartbeat))
	on("POST "+v1+"/create_model", smallBody, decoded(s.runs.createModel))
	on("POST "+v1+"/get_info", smallBody, decoded(s.runs.getInfo))
	on("POST "+v1+"/unload_model", smallBody, decoded(s.runs.unloadModel))
	on("POST "+v1+"/forward_backward", largeTraining, s.runs.forwardBackward)
	on("POST "+v1+"/forward", largeTraining, s.runs.forwardBackward)
	on("POST "+v1+"/optim_step", smallTraining, decoded(s.runs.optimStep))
	on("POST "+v1+"/save_weights", smallTraining, decoded(s.runs.saveWeights))
	on("POST "+v1+"/save_weights_for_sampler", smallTraining, decoded(s.runs.saveForSampler))
	on("POST "+v1+"/save_weights_external", smallTraining, decoded(s.runs.saveExternal))
	on("POST "+v1+"/load_weights", smallTraining, decoded(s.runs.loadWeights))
	on("POST "+v1+"/create_sampling_session", smallBody, decoded(s.samplers.createSampler))
	on("GET "+v1+"/samplers/{id}", noBody, s.samplers.getSampler)
	on("POST "+v1+"/asample", largeBody, s.samplers.sample)
	on("POST "+v1+"/retrieve_future", smallBody, decoded(s.futures.retrieve))
	on("POST "+v1+"/retrieve_futures", smallBody, decoded(s.futures.retrieveMany))
	on("POST "+v1+"/cancel_future", smallBody, decoded(s.futures.cancelFuture))
	on("POST "+v1+"/join_sampling_session", smallBody, decoded(s.samplers.joinSampler))
	on("GET "+v1+"/get_server_capabilities", noBody, s.names.capabilities)
	on("POST "+v1+"/weights_info", smallBody, decoded(s.saved.weightsInfo))
	on("GET "+v1+"/training_runs", noBody, s.runs.listRuns)
	on("GET "+v1+"/training_runs/{run}", noBody, s.runs.getRun)
	on("GET "+v1+"/training_runs/{run}/checkpoints", noBody, s.saved.runCheckpoints)
	const one = v1 + "/training_runs/{run}/checkpoints/{kind}/{name}"
	on("DELETE "+one, noBody, s.saved.deleteCheckpoint)
	on("GET "+one+"/archive", noBody, s.saved.archiveURL)
	on("GET "+one+"/external_weights_urls", noBody, s.saved.externalURLs)
	on("POST "+one+"/publish", noBody, s.saved.publish)
	on("DELETE "+one+"/publish", noBody, s.saved.unpublish)
	on("PUT "+one+"/ttl", smallBody, decoded(s.saved.setTTL))
	const bare = v1 + "/training_runs/{run}/checkpoints/{name}"
	on("DELETE "+bare, noBody, s.saved.bareID)
	on("GET "+bare+"/archive", noBody, s.saved.bareID)
	on("GET "+v1+"/checkpoints", noBody, s.saved.listCheckpoints)
	on("GET "+v1+"/sessions", noBody, s.sessions.listSessions)
	on("GET "+v1+"/sessions/{id}", noBody, s.sessions.getSession)
	on("POST "+v1+"/sessions/{id}/finish", smallBody, decoded(s.sessions.finishSession))
	for pattern, reason := range refusals() {
		on(pattern, noBody, refuse(reason))
	}
	s.endpoints.routes()
	other := s.edge.other("other", noBody, unknown, s.endpoints.fail)
	mux.HandleFunc("GET /api/models/{repo...}", s.names.describe)
	mux.HandleFunc("GET /{path...}", func(w http.ResponseWriter, r *http.Request) { s.names.resolve(w, r, other) })
	mux.Handle("/", other)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.life.closing() {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "closing"})
		return
	}
	if err := s.capacity.writable(); err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": err.Error()})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"version": s.opts.Version})
}

// metrics serves /metrics to every client with a known key, and to local clients if any key is accepted.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	err := s.edge.noKey()
	if !s.edge.keyed() || s.edge.authenticate(r) != "" {
		err = s.stats.serve(w, r)
	}
	if err != nil {
		s.edge.fail(w, r, err)
	}
}
