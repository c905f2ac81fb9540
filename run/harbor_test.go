package run

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// harborIn are options with a stand-in for the package harbor, and a taskset whose rows are folders of tasks.
func harborIn(t *testing.T, args string) (Options, []string) {
	t.Helper()
	o := pythonIn(t, "plugins")
	here := filepath.Dir(o.Python.Path[0])
	o.Python.Dirs, o.Python.Path = nil, append(o.Python.Path, filepath.Join(here, "harbor"))
	row, err := json.Marshal(map[string]string{"task_dir": filepath.Join(here, "harbor/tasks/digits")})
	if err != nil {
		t.Fatal(err)
	}
	tasks := filepath.Join(t.TempDir(), "tasks.jsonl")
	if err := os.WriteFile(tasks, bytes.Repeat(append(row, '\n'), 4), 0o644); err != nil {
		t.Fatal(err)
	}
	return o, and(tiny, tasksetKey+"path="+tasks, tasksetKey+"default_workflow_type=harbor_workflow",
		tasksetKey+"workflow_args="+args)
}

// A task of Harbor is a rollout: the agent asks at the run's URL, and the reward is what the tests wrote.
func TestHarbor(t *testing.T) {
	t.Parallel()
	o, args := harborIn(t, `{agent_import_path: "local:Asks", environment: {import_path: "local:Folder"}}`)
	first := runs(t, loadPython(t, t.TempDir(), o, args...), o)
	gapIsNone(t, first[:1])
	for name, want := range map[string]float64{"rollout/harbor/has_exception/mean": 0,
		"rollout/harbor/num_rewards/mean": 1, "rollout/harbor/output_tokens/mean": 7} {
		if got, ok := first[0].Metrics[name]; !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", name, got, ok, want)
		}
	}
	if m := first[0].Metrics; m["rollout/harbor/reward/max"] == m["rollout/harbor/reward/min"] {
		t.Errorf("all rewards are %v", m["rollout/harbor/reward/max"])
	}
	same(t, "again", runs(t, loadPython(t, t.TempDir(), o, args...), o), first)
}

// What Harbor cannot start here is refused with what to do.
func TestHarborRefused(t *testing.T) {
	for want, args := range map[string]string{
		"there is no docker here: install it, or name another environment": `{agent_import_path: "local:Asks"}`,
		"the agent did not ask the model: ZeroDivisionError": `{agent_import_path: "local:Fails", environment: ` +
			`{import_path: "local:Folder"}}`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("PATH", onlyPython(t))
			o, args := harborIn(t, args)
			var out bytes.Buffer
			o.Out = &out
			_, err := Run(t.Context(), loadPython(t, t.TempDir(), o, append(args, "explorer.max_retry_times=0")...), o)
			if err == nil || !strings.Contains(out.String(), want) {
				t.Errorf("%v, and it does not say %q:\n%s", err, want, out.String())
			}
		})
	}
}

// onlyPython is a folder with python3 and no other program.
func onlyPython(t *testing.T) string {
	t.Helper()
	where, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	if err := os.Symlink(strings.TrimSpace(string(where)), filepath.Join(dir, "python3")); err != nil {
		t.Fatal(err)
	}
	return dir
}
