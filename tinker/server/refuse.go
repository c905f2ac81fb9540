package server

import (
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// refusals lists the routes of the protocol that a server on one machine does not offer, with the reason for users.
func refusals() map[string]string {
	const v1 = wire.Prefix
	return map[string]string{
		"POST " + v1 +
			"/auth/token": "keys are not exchanged for tokens here: send the key itself (pjwt_auth_enabled is false)",
		"GET " + v1 +
			"/auth/apikey/me": "keys are kept by whoever runs this server: trinity serve key list",
		"DELETE " + v1 +
			"/auth/apikey/me": "keys are kept by whoever runs this server: trinity serve key revoke",
		"POST " + v1 +
			"/create_custom_loss": "custom losses run at the client (custom_loss_server_side is false)",
		"POST " + v1 + "/copy_weights": "checkpoints are not copied between runs: load_weights with the path, or " +
			"create a model from it",
		"POST " + v1 +
			"/sessions/search": "sessions are not searched here: list them (GET /api/v1/sessions)",
		"PUT " + v1 + "/sessions/{id}/project": "this server has no projects",
		"GET " + v1 +
			"/sessions/{id}/trace_export": "this server records no traces; /metrics and its log say what it does",
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
