// Command agents runs unmodified agents of OpenAI's client, LangGraph and the OpenAI Agents SDK in full rollouts.
// Needs: Python and pip, or -python.
// Takes: about ten minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	python := flag.String("python", "", "a Python with the packages; \"\" makes one in bin/agents/venv")
	flag.Parse()
	job.Main("agents", func(ctx context.Context) error { return agents(ctx, *python) })
}

// packages lists the agents' frameworks.
func packages() []string { return []string{"langchain-openai", "langgraph", "openai", "openai-agents"} }

func agents(ctx context.Context, python string) error {
	root, err := os.Getwd()
	if err == nil && python == "" {
		python, err = venv.Python("bin/agents/venv", packages()...)
	}
	if err == nil {
		python, err = filepath.Abs(python)
	}
	if err != nil {
		return err
	}
	if err := versions(ctx, python); err != nil {
		return err
	}
	var problems []error
	for _, a := range []struct {
		what, script string
		branches     func(calls float64) float64 // of a rollout
	}{
		// it does not repeat what the model thought, so its second call is a branch
		{"OpenAI's client", "examples/agent/agent.py", func(calls float64) float64 { return calls - 1 }},
		{"LangGraph", "bench/agents/agent_langgraph.py", func(float64) float64 { return 0 }},
		// its second agent has a conversation of its own
		{"OpenAI Agents SDK", "bench/agents/agent_sdk.py", func(float64) float64 { return 1 }},
	} {
		const taskset = "buffer.explorer_input.taskset."
		r, err := job.Carried(ctx, a.what, run.Python{}, taskset+"default_workflow_type=agent_workflow",
			taskset+"workflow_args={command: ["+python+", "+filepath.Join(root, a.script)+
				"], timeout: 300, concurrency: 4, max_tokens: 400}", "model.max_response_tokens=40")
		if want := a.branches(r.Calls); err == nil && math.Abs(r.Branches-want) > 1e-9 {
			err = fmt.Errorf("%s: %v branches a rollout, want %v", a.what, r.Branches, want)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// versions prints the versions of the packages.
func versions(ctx context.Context, python string) error {
	const script = `import importlib.metadata as m, sys; print("; ".join(p + " " + m.version(p) for p in sys.argv[1:]))`
	out, err := exec.CommandContext(ctx, python, append([]string{"-c", script}, packages()...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s lacks packages of %s: %w\n%s", python, strings.Join(packages(), ", "), err, out)
	}
	fmt.Print(string(out))
	return nil
}
