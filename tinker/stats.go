package tinker

import "time"

// Stats is the work that a Service in this process has done since it was opened, and its pending work.
type Stats struct {
	// Tokens computed: prompts and repeated beginnings (Prefill), drawn ones (Decode), and training's.
	Prefill, Decode, Forward, Backward int64

	Steps        int64 // of sampling: passes in which every sample in progress gets its next token
	Sequences    int64 // samples and prompts in them, so that Sequences/Steps/MaxSequences is the occupancy
	MaxSequences int

	Passes      int64 // of training
	PassModels  int64 // models in them: above Passes when adapters share
	PassTokens  int64 // tokens in them, so that PassTokens/Passes/MicroBatch is the occupancy
	MicroBatch  int
	Preemptions int64 // times that training yielded to sampling between two layers
	// LongestPart is the longest time that training computed without yielding: one layer of one micro-batch, or a part
	// of the head or of an optimizer step, which are cut to take no longer than a layer.
	LongestPart time.Duration

	Waiting [2]Queue // by Work: pending requests
	Running int      // sequences that are sampled now
}

// Queue is the pending work of one kind.
type Queue struct {
	Requests int
	Tokens   int64
}
