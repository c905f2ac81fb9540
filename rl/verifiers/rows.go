package verifiers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// Rows are the tasks of an environment, which are read once: rows with the columns key and data. values are the
// workflow_args of the taskset; id replaces their env_id.
func (v *Servers) Rows(ctx context.Context, id string, values map[string]any) (*dataset.Source, error) {
	given := map[string]any{}
	maps.Copy(given, values)
	given["env_id"] = id
	a, err := readArgs(given)
	if err != nil {
		return nil, fmt.Errorf("verifiers: workflow_args.%w", err)
	}
	if a.joins() {
		return nil, errors.New("verifiers: an env server cannot list its tasks: set path: verifiers:ID, or a file " +
			"with rows {\"data\": {…}}, and workflow_args.env_id: " + id)
	}
	v.reading.Lock()
	defer v.reading.Unlock()
	key := fmt.Sprint(a.limit, a.key())
	if rows := v.read[key]; rows != nil {
		return listOf(a.ID, rows), nil
	}
	rows, err := v.host.dump(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("verifiers: reading the tasks of %s: %w", a.ID, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("verifiers: %s has no tasks", a.ID)
	}
	v.read[key] = rows
	return listOf(a.ID, rows), nil
}

// dump has the user's Python write the tasks.
func (h host) dump(ctx context.Context, a args) ([]dataset.Row, error) {
	folder, err := os.MkdirTemp("", "trinity-verifiers-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := filepath.Join(folder, "tasks.jsonl")
	refused := ""
	p, err := h.start(a.settings, map[string]any{"out": out, "limit": a.limit}, func(line string) {
		if why, is := strings.CutPrefix(line, refusedIs); is {
			refused = why
		} else {
			h.log(line)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w; install Python, or name one with --python", err)
	}
	err = p.Wait(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case refused != "":
		return nil, errors.New(refused)
	case err != nil:
		return nil, p.Failure()
	}
	data, err := disk.ReadFile(out, disk.BigFile)
	if err != nil {
		return nil, err
	}
	return readRows(data)
}

// readRows reads the lines that host.py writes.
func readRows(data []byte) (rows []dataset.Row, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var row dataset.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

// taskOf is the task of a row, as a server takes it.
func taskOf(row dataset.Row) (map[string]any, error) {
	data, is := row.Get("data")
	if !is {
		return nil, errors.New("verifiers: the row has no column data, which holds the task: read the tasks with " +
			"path: verifiers:ID")
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil || m == nil {
		return nil, fmt.Errorf("verifiers: the column data of the row is no object: %.60s", raw)
	}
	return m, nil
}

// listOf is tasks as a dataset.
func listOf(id string, rows []dataset.Row) *dataset.Source {
	where := func(i int) string { return fmt.Sprintf("task %d of %s", i, id) }
	return dataset.Of(&dataset.List{Rows: rows, Where: where})
}
