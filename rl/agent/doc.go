// Package agent runs rollouts in programs of the user, in any language: the agent owns the loop. It implements
// workflow.Carrier.
//
// One program is started for each rollout. It finds the model at a rollout URL, the task in a file and on its standard
// input, and it writes the reward into another file, or sends it to the URL. The rollout is complete when the program
// has ended with exit status 0 and there is a reward; anything else is a failed rollout with a message, and never a
// reward of 0. Package internal/process ends the program with everything that it started.
//
// # Input
//
// Standard input and TRINITY_TASK_FILE hold one JSON object:
//
//	{"rollout_id": "3-7-0-1f2e…", "base_url": "http://127.0.0.1:4711/rollouts/3-7-0-1f2e…/v1", "model": "…",
//	 "task": {the raw row}, "is_eval": false, "run": 0, "seed": 123, "reward_file": "…"}
//
// The variables are this program's and
//
//	OPENAI_BASE_URL, OPENAI_API_BASE        the rollout URL
//	OPENAI_API_KEY                          EMPTY
//	ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY   the same for Anthropic's clients
//	TRINITY_BASE_URL, TRINITY_MODEL         the rollout URL again, and the model's name
//	TRINITY_TASK_FILE, TRINITY_REWARD_FILE  files in TRINITY_FOLDER
//	TRINITY_FOLDER                          an empty folder of this rollout, which is deleted when the program ended
//	TRINITY_ROLLOUT_ID, TRINITY_SEED, TRINITY_IS_EVAL
//
// # The reward
//
// TRINITY_REWARD_FILE holds a number, or {"reward": 1, "metrics": {"accuracy": 1}}.
package agent
