package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// run starts the program for one rollout, waits for its end and reads the reward.
func (c *carrying) run(ctx context.Context, w workflow.Work) ([]workflow.Part, error) {
	here, err := c.world.here()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(here, "trinity-agent-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	task, reward := filepath.Join(folder, "task.json"), filepath.Join(folder, "reward")
	if err := writeTask(task, reward, w); err != nil {
		return nil, err
	}
	name := w.Task.Batch + "/" + w.Task.ID + "/" + strconv.Itoa(w.Run)
	log := func(line string) { c.world.log(outside.Line{Text: line, Task: name}) }
	p, err := c.world.guard.Start(process.Options{Command: c.command, Dir: c.dir, Stdin: task, Memory: c.memory,
		Env: append(variables(folder, task, reward, w), c.env...), Output: log})
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx, p); err != nil {
		log("the rollout failed: " + err.Error())
		return nil, err
	}
	part, found, err := readReward(reward)
	if err != nil || !found { // it may have been sent to the URL
		return nil, err
	}
	return []workflow.Part{part}, nil
}

// await waits until the program has ended, and ends it when its time is over.
func (c *carrying) await(ctx context.Context, p *process.Process) error {
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("it did not end within %v "+
		"(workflow_args.timeout) and was killed", c.timeout))
	defer cancel()
	err := p.Wait(limited)
	if err == nil || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(c.command, " "), p.Failure())
}

// writeTask writes the task for the program.
func writeTask(file, reward string, w workflow.Work) error {
	row := w.Task.Row
	if row == nil {
		row = dataset.Row{}
	}
	data, err := json.Marshal(struct {
		ID     string      `json:"rollout_id"`
		URL    string      `json:"base_url"`
		Model  string      `json:"model"`
		Task   dataset.Row `json:"task"`
		Eval   bool        `json:"is_eval"`
		Run    int         `json:"run"`
		Seed   uint64      `json:"seed"`
		Reward string      `json:"reward_file"`
	}{w.ID, w.URL, w.Model, row, w.Eval, w.Run, seedOf(w), reward})
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o600)
}

// seedOf is the seed of the rollout in 53 bits, which every language reads exactly.
func seedOf(w workflow.Work) uint64 { return w.Seed >> 11 }

// variables are the environment variables of a rollout.
func variables(folder, task, reward string, w workflow.Work) []string {
	eval := "0"
	if w.Eval {
		eval = "1"
	}
	const none = "EMPTY"
	return []string{"OPENAI_BASE_URL=" + w.URL, "OPENAI_API_BASE=" + w.URL, "OPENAI_API_KEY=" + none,
		"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(w.URL, "/v1"), "ANTHROPIC_API_KEY=" + none,
		"TRINITY_BASE_URL=" + w.URL, "TRINITY_MODEL=" + w.Model, "TRINITY_TASK_FILE=" + task,
		"TRINITY_REWARD_FILE=" + reward, "TRINITY_FOLDER=" + folder, "TRINITY_ROLLOUT_ID=" + w.ID,
		"TRINITY_SEED=" + strconv.FormatUint(seedOf(w), 10), "TRINITY_IS_EVAL=" + eval,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "PYTHONUNBUFFERED=1"}
}
