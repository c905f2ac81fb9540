// Package verifiers runs rollouts in environments of the Python package verifiers (version 0.3 and newer): it starts an
// env server with the user's Python, or joins one, and reads its tasks. It implements workflow.Carrier.
//
// # The wire
//
// The server has a ROUTER socket of ZeroMQ (package internal/zmtp) and speaks MessagePack (package internal/msgpack). A
// request is [id] [method] [map] with the methods health, run and cancel. In verifiers 0.3 an answer is [id] [map].
// From 0.4 on it is [id] [kind] [map]: the traces of a run come as they grow, of kind delta, and the end of the run, of
// kind reply, has the episode without them. Both are read.
//
// A run has the client type eval: the environment asks the model at the rollout's URL, in whatever interface its
// program speaks, so that prompts, tokens and logprobs are recorded here and not in Python.
//
// # Rewards
//
// The reward of a trace is the sum of score × weight over its rewards; one whose scoring did not run (null) fails the
// rollout. An episode that is not ok fails with its errors. A trace whose agent is not trainable is not trained. With
// several traces, each that is trainable is an experience of its own, with the calls that have its id in the header
// X-Session-ID. Calls that continue no other are branches, as in every rollout.
//
// # The server
//
// It is started with the first rollout and ended with the run, with everything that it started (package
// internal/process). When it dies, or does not answer, its rollouts fail with its last lines, and the next
// rollout starts another.
package verifiers
