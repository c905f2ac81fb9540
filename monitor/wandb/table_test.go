package wandb

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/monitortest"
)

func TestWandbTable(t *testing.T) {
	c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Project: "p", Name: "job",
		Now: func() time.Time { return time.Unix(1e9, 0) }}
	monitortest.RecordSteps(t, c, 1, 2)
	names, err := filepath.Glob(filepath.Join(c.Dir, "monitor", "wandb", "explorer", "*", "*.wandb"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	steps, items := history(t, names[0])
	if fmt.Sprint(steps) != "[1 2]" {
		t.Errorf("the history has steps %v", steps)
	}
	var table struct {
		Type         string `json:"_type"`
		Path, SHA256 string
		NRows        int
	}
	if err := json.Unmarshal([]byte(items[1]["rollouts"]), &table); err != nil || table.Type != "table-file" ||
		table.NRows != 16 {
		t.Fatalf("the table is %+v, %v", table, err)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(names[0]), "files", filepath.FromSlash(table.Path)))
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Columns []string
		Data    [][]any
	}
	if err := json.Unmarshal(data, &content); err != nil || len(content.Data) != 16 ||
		content.Data[1][0] != "2/2/0/0/x" || content.Data[1][10] != "<b>2" {
		t.Errorf("the table's file is %s, %v", data, err)
	}
	files := 0
	for _, rec := range records(t, names[0]) {
		if f, ok := subfield(rec, recordFiles); ok {
			item, _ := subfield(f, filesItem)
			if name, _ := subfield(item, fileItemPath); string(name) == table.Path {
				files++
			}
		}
	}
	if files != 1 {
		t.Errorf("the table is named as a file %d times", files)
	}
}

// A run that is sent as it goes uploads each table before the line that names it.
func TestWandbTablesOnline(t *testing.T) {
	service := &fakeService{}
	server := httptest.NewServer(service)
	defer server.Close()
	c := config(t.TempDir(), -1)
	c.Roles = []string{"explorer"}
	c.Args = map[string]any{"base_url": server.URL, "api_key": "the-key", "rollouts_per_step": 4}
	monitortest.RecordSteps(t, c, 1, 2)
	there, named, told := map[string]string{}, 0, 0
	for _, r := range service.requests {
		if text, ok := r["put"].(string); ok {
			if r["key"] == true {
				t.Error("the key went to a signed address")
			}
			there[strings.TrimPrefix(r["path"].(string), "/storage/")] = text
		}
		list, _ := r["uploaded"].([]any)
		told += len(list)
		files, _ := r["files"].(map[string]any)
		h, _ := files["wandb-history.jsonl"].(map[string]any)
		lines, _ := h["content"].([]any)
		for _, line := range lines {
			var of struct {
				Rollouts struct {
					Path string
					Rows int `json:"nrows"`
				}
			}
			if err := json.Unmarshal([]byte(line.(string)), &of); err != nil {
				t.Fatal(err)
			}
			if of.Rollouts.Path == "" {
				continue // of the trainer
			}
			var table struct{ Data [][]any }
			if err := json.Unmarshal([]byte(there[of.Rollouts.Path]), &table); err != nil || len(table.Data) != 4 ||
				of.Rollouts.Rows != 4 {
				t.Errorf("a line names %+v, which is %q (%v)", of.Rollouts, there[of.Rollouts.Path], err)
			}
			named++
		}
	}
	if len(there) != 2 || named != 2 || told != 2 {
		t.Errorf("%d tables, %d lines that name one, %d of them told", len(there), named, told)
	}
}
