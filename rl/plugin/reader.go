package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// page is how many rows a reader is asked for at a time.
const page = 1000

// Rows are the rows of a reader, all of which it gives before the run begins. config is the taskset's section.
func (s *Set) Rows(ctx context.Context, name string, config map[string]any) (*dataset.Source, error) {
	t := &table{name: name}
	session, err := s.host.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for {
		var out struct {
			Total int           `json:"total"`
			Rows  []dataset.Row `json:"rows"`
		}
		args := map[string]any{"name": name, "config": config, "from": len(t.rows), "count": page}
		if err := session.Call(ctx, "reader.read", args, &out, builtin); err != nil {
			return nil, failed("reader "+name, err, nil)
		}
		t.rows = append(t.rows, out.Rows...)
		if len(t.rows) >= out.Total || len(out.Rows) == 0 {
			break
		}
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("reader %s gave no rows", name)
	}
	return dataset.Of(t), nil
}

// table is what a reader gave. It implements dataset.Table.
type table struct {
	name string
	rows []dataset.Row
}

func (t *table) Count() int { return len(t.rows) }

func (t *table) Row(i int) (dataset.Row, error) {
	if i < 0 || i >= len(t.rows) {
		return nil, errors.New("plugin: no such row")
	}
	return t.rows[i], nil
}

func (t *table) Place(i int) string { return fmt.Sprintf("row %d of reader %s", i, t.name) }

func (t *table) Close() error { return nil }
