// Package carried plays what owns its loop as env.Env, so that trainers that own theirs can train on it: environments
// of verifiers (package rl/verifiers), or any other workflow.Carrying.
//
// An episode is carried out at a rollout URL that this package serves. Each call of the model there is an observation:
// the text of the call's prompt in the model's own chat template. The player's answer answers the call, and the next
// call, or the end, follows. So calls are played in order, one at a time, and an episode with calls of several agents
// is refused. The reward comes with the end. An episode that fails, or ends without a call or a reward, is an error and
// never a reward of 0.
//
// A seed names a task. Whether it decides how an episode begins is found out by beginning two episodes of one task.
package carried
