package plugin

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// page is how many rows a reader is asked for at a time.
const page = 1000

// Rows are the rows of a reader, all of which it gives before the run begins. config is the taskset's section.
func (s *Set) Rows(ctx context.Context, name string, config map[string]any) (*dataset.Source, error) {
	t := &dataset.List{Where: func(i int) string { return fmt.Sprintf("row %d of reader %s", i, name) }}
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
		args := map[string]any{"name": name, "config": config, "from": len(t.Rows), "count": page}
		if err := session.Call(ctx, "reader.read", args, &out, builtin); err != nil {
			return nil, failed("reader "+name, err, nil)
		}
		t.Rows = append(t.Rows, out.Rows...)
		if len(t.Rows) >= out.Total || len(out.Rows) == 0 {
			break
		}
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("reader %s gave no rows", name)
	}
	return dataset.Of(t), nil
}
