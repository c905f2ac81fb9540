package client

import (
	"regexp"
)

// kind is whose server it is, where that changes what a client has to do. Most differences show in the answers and need no name.
type kind int32

const (
	plain kind = iota // the hosted service, trinity serve, and whatever keeps to the protocol
	// skyrl is SkyRL's server (package skyrl.tinker): seeds are 32-bit, paths of sampler weights lack their kind, and weights can be
	// sampled only while the model that saved them is loaded.
	skyrl
	// tuft is TuFT: a restarted server takes models back to their last checkpoint of any kind, without a word, and unloading a
	// model forgets its checkpoints.
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
