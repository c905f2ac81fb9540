package client

import (
	"net/http"
	"regexp"
	"strings"
)

// kind is whose server it is, where that changes what a client has to do. Most differences show in the answers and
// need no name.
type kind int32

const (
	_ kind = iota // the hosted service, trinity serve, and whatever keeps to the protocol
	// skyrl is SkyRL's server (package skyrl.tinker): seeds are 32-bit, paths of sampler weights lack their kind, and
	// weights can be sampled only while the model that saved them is loaded.
	skyrl
	// tuft is TuFT: a restarted server takes models back to their last checkpoint of any kind, without a word, and
	// unloading a model forgets its checkpoints.
	tuft
)

// skyrlSession is the form of SkyRL's session ids; the others' are UUIDs.
var skyrlSession = regexp.MustCompile(`^session_[0-9a-f]{8}$`)

func (c *Client) is(k kind) bool { return kind(c.kind.Load()) == k }

// narrow is how much of a seed SkyRL takes: it adds the number of the sample and wants an int32.
const narrow = 1<<30 - 1

// seed is a seed that the server takes, made of any.
func (c *Client) seed(seed *uint64) *uint64 {
	if seed == nil || !c.is(skyrl) {
		return seed
	}
	s := *seed & narrow
	return &s
}

// bare are the calls whose failures TuFT does not translate: whatever it does not know there, a model, a session or a
// checkpoint, is a 500 without a word.
var bare = regexp.MustCompile(`^/(get_info|session_heartbeat|weights_info|training_runs/.*)$`)

// translate makes a TuFT server's 500 what it stands for, so that it is neither waited out nor taken for a failure of
// the server.
func (c *Client) translate(r *request, resp *response) *response {
	if resp.status != http.StatusInternalServerError || !c.is(tuft) || !bare.MatchString(r.path) ||
		strings.TrimSpace(string(resp.body)) != "Internal Server Error" {
		return resp
	}
	return &response{http.StatusNotFound, resp.header,
		[]byte(`{"detail": "not found (TuFT answers 500 to what it does not know here)"}`)}
}
