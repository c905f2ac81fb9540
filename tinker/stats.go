package tinker

import "time"

// Stats is what a Service that computes in this process has done since it was opened, and what waits now.
type Stats struct {
	// Tokens computed: prompts and repeated beginnings (Prefill), drawn ones (Decode), and training's.
	Prefill, Decode, Forward, Backward int64

	Steps        int64 // of sampling: passes in which every sample under way gets its next token
	Sequences    int64 // samples and prompts in them, so that Sequences/Steps/MaxSequences is the occupancy
	MaxSequences int

	Passes      int64 // of training
	PassModels  int64 // models in them: above Passes when adapters share
	PassTokens  int64 // tokens in them, so that PassTokens/Passes/MicroBatch is the occupancy
	MicroBatch  int
	Preemptions int64 // times that training gave way to sampling between two layers
	// LongestPart is the longest that training has computed without giving way: one layer of one micro-batch, or a part
	// of the head or of an optimizer step, which are cut to be no longer.
	LongestPart time.Duration

	Waiting [2]Queue // by Work: requests accepted and not done
	Running int      // lanes of sampling now
}

// Queue is what waits of one kind of work.
type Queue struct {
	Requests int
	Tokens   int64
}
