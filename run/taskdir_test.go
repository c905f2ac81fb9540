package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// folderWorkflow is a plug-in whose tasks are folders, or rows with the same texts.
const folderWorkflow = `
import os
from trinity.common.workflows.workflow import WORKFLOWS, Workflow

@WORKFLOWS.register_module("of_folder")
class OfFolder(Workflow):
    can_reset = True
    can_repeat = True

    def reset(self, task):
        self.task = task

    def set_repeat_times(self, repeat_times, run_id_base):
        self.repeat_times, self.run_id_base = repeat_times, run_id_base

    def run(self):
        raw = self.task.raw_task
        text = raw.get("text")
        if raw.get("source_type") == "task_dir":
            assert raw["taskset_name"] == "set" and os.path.basename(raw["task_dir"]) == raw["task_name"]
            with open(os.path.join(raw["task_dir"], "text.txt")) as f:
                text = f.read()
        made = self.model.chat([{"role": "user", "content": text}], n=self.repeat_times)
        for i, exp in enumerate(made):
            exp.reward = float(len(exp.response_text))
            exp.eid.run = i + self.run_id_base
        return made
`

// A taskset whose tasks are folders gives a plug-in's workflow the folders, in the order of index.txt and epoch after
// epoch: the run, in two parts, has the bits of one over rows with the same texts.
func TestTaskFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := pythonIn(t, "plugins")
	o.Python.Dirs = []string{filepath.Join(dir, "plugins")}
	write(t, filepath.Join(dir, "plugins", "folder.py"), folderWorkflow)
	rows := ""
	for _, name := range []string{"two", "one", "three"} {
		text := "How much is " + name + " and " + name + "?"
		write(t, filepath.Join(dir, "tasks", name, "text.txt"), text)
		row, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		rows += string(row) + "\n"
	}
	write(t, filepath.Join(dir, "tasks", "index.txt"), "two\n# the rest\none\nthree\n")
	write(t, filepath.Join(dir, "rows.jsonl"), rows)
	set := func(storage, path string, more ...string) []string {
		return and(tiny, append([]string{"buffer.batch_size=1", "buffer.total_steps=4", "trainer.total_steps=4",
			"buffer.explorer_input.taskset={name: set, storage_type: " + storage + ", path: \"" +
				filepath.Join(dir, path) + "\", default_workflow_type: of_folder}"}, more...)...)
	}
	want := runs(t, loadPython(t, t.TempDir(), o, set("file", "rows.jsonl")...), o)
	parts := t.TempDir()
	runs(t, loadPython(t, parts, o, set("task_dir", "tasks", "trainer.total_steps=2", "buffer.total_steps=2")...), o)
	same(t, "in two parts", runs(t, loadPython(t, parts, o, set("task_dir", "tasks")...), o), want)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
