package wandb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// columns of the table of samples.
var columns = []string{"id", "task_index", "model_version", "reward", "advantage", "stop_reason",
	"response_tokens", "extracted", "expected", "prompt", "response"}

// Samples implements monitor.SampleSink: a table, which is a file of the run (media/table) that the step's history
// names, as the library writes it (wandb/data_types/table.py). `wandb sync` sends it; a run that is sent as it goes
// uploads it.
func (w *runFile) Samples(_ time.Time, step int, list []*rollout.Record) error {
	rows := [][]any{}
	for _, r := range list {
		about := r.About()
		about["prompt"], about["response"] = r.Prompt, r.Response
		row := make([]any, len(columns))
		for i, name := range columns {
			row[i] = about[name]
		}
		rows = append(rows, row)
	}
	data, err := json.Marshal(map[string]any{"columns": columns, "data": rows})
	if err != nil {
		return fmt.Errorf("monitor: wandb: %w", err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	name := path.Join("media", "table", fmt.Sprintf("rollouts_%d_%s.table.json", step, hash[:20]))
	file := filepath.Join(filepath.Dir(w.file.Name()), "files", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("monitor: wandb: %w", err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("monitor: wandb: %w", err)
	}
	w.table = monitor.JSON(map[string]any{"_type": "table-file", "path": name, "sha256": hash, "size": len(data),
		"ncols": len(columns), "nrows": len(rows)})
	w.upload = &mediaFile{name, file}
	item := appendNumber(appendBytes(nil, fileItemPath, name), fileItemType, fileMedia)
	return w.record(recordFiles, appendBytes(nil, filesItem, item))
}
