package client

import (
	"net/http"
	"regexp"
	"strings"
)

// serverKind is the server's implementation, for differences that the answers do not show.
type serverKind int32

const (
	_ serverKind = iota // the hosted service, trinity serve, and other servers that follow the protocol
	// skyrl is SkyRL's server (package skyrl.tinker): seeds are 32-bit, paths of sampler weights lack their kind, and
	// weights can be sampled only while the model that saved them is loaded.
	skyrl
	// tuft is TuFT: a restarted server silently returns models to their last checkpoint of any kind, and unloading a
	// model deletes its checkpoints.
	tuft
)

// skyrlSession is the form of SkyRL's session ids; the others' are UUIDs.
var skyrlSession = regexp.MustCompile(`^session_[0-9a-f]{8}$`)

func (c *Client) is(k serverKind) bool { return serverKind(c.kind.Load()) == k }

// narrow masks a seed for SkyRL, which adds the number of the sample and needs an int32.
const narrow = 1<<30 - 1

// seed converts any seed to one that the server accepts.
func (c *Client) seed(seed *uint64) *uint64 {
	if seed == nil || !c.is(skyrl) {
		return seed
	}
	s := *seed & narrow
	return &s
}

// bare matches the calls for which TuFT answers an unknown model, session or checkpoint with a 500 without details.
var bare = regexp.MustCompile(`^/(get_info|session_heartbeat|weights_info|training_runs/.*)$`)

// translate turns such a 500 of a TuFT server into the 404 that it means, so that the call is not repeated as after a
// server error.
func (c *Client) translate(r *apiRequest, resp *apiResponse) *apiResponse {
	if resp.status != http.StatusInternalServerError || !c.is(tuft) || !bare.MatchString(r.path) ||
		strings.TrimSpace(string(resp.body)) != "Internal Server Error" {
		return resp
	}
	return &apiResponse{http.StatusNotFound, resp.header,
		[]byte(`{"detail": "not found (TuFT answers 500 to what it does not know here)"}`)}
}
