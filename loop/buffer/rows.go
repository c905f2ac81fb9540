package buffer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// Rows are the rows of a table that somebody else fills, in the order of their ids: Trinity-RFT's tables of tasks
// (raw_task), of conversations (message_list) or of pairs (chosen_message_list, rejected_message_list), all JSON. It is
// a dataset.Table. What a table has beside these is not read: the experience_bytes of upstream's are a Python pickle of
// what is rendered here from the messages.
//
// Rows may be added while it is open, and [Rows.Refresh] sees them. Rows that are taken away are an error when they are
// read.
type Rows struct {
	db     *database
	name   string
	schema rowSchema

	mu  sync.RWMutex
	ids []int64
}

// rowSchema says what a table's rows mean: the columns read, and the row of a dataset that they make.
type rowSchema struct {
	columns []string
	row     func(values []any) (dataset.Row, error)
}

// The column names of the rows that tables of conversations and of pairs give.
const (
	MessagesColumn = "messages"
	ChosenColumn   = "chosen"
	RejectedColumn = "rejected"
)

// rowSchemas are the tables that can be read, by Trinity-RFT's names.
func rowSchemas() map[string]rowSchema {
	return map[string]rowSchema{
		"task": {[]string{"raw_task"}, taskRow},
		"sft": {[]string{"message_list"},
			func(v []any) (dataset.Row, error) { return dataset.Row{{Key: MessagesColumn, Value: v[0]}}, nil }},
		"dpo": {[]string{"chosen_message_list", "rejected_message_list"}, pairRow},
	}
}

// OpenRows opens the table called name at a database URL. schema is task, sft or dpo. A reading that fails is tried
// again, retries times with a pause in between.
func OpenRows(ctx context.Context, address, name, schema string, retries int, pause time.Duration) (*Rows, error) {
	s, ok := rowSchemas()[schema]
	if !ok {
		return nil, fmt.Errorf("buffer: no table of schema %q can be read as a data set; choose task, sft or dpo",
			schema)
	}
	db, err := openReading(address)
	if err != nil {
		return nil, err
	}
	db.retries, db.pause = retries, pause
	r := &Rows{db: db, name: name, schema: s}
	if err := r.Refresh(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return r, nil
}

// Refresh looks for rows that were added.
func (r *Rows) Refresh(ctx context.Context) error {
	var ids []int64
	err := r.db.retry(ctx, "listing the rows of "+r.name, func(tx *sql.Tx) (err error) {
		if err := r.there(ctx, tx); err != nil {
			return err
		}
		ids, err = column[int64](tx.QueryContext(ctx, `SELECT id FROM `+quoted(r.name)+` ORDER BY id`))
		return err
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.ids); len(ids) < n || !slices.Equal(ids[:n], r.ids) {
		return fmt.Errorf("buffer: rows of table %s were taken away or put in between while it was read; add rows "+
			"after the others only", r.name)
	}
	r.ids = ids
	return nil
}

// there names the tables that there are when the one wanted is not.
func (r *Rows) there(ctx context.Context, tx *sql.Tx) error {
	names, err := column[string](tx.QueryContext(ctx, r.db.tables))
	if err != nil || slices.Contains(names, r.name) {
		return err
	}
	if names == nil {
		names = []string{"none"}
	}
	return fmt.Errorf("%w: the database has no table %q; its tables are: %s; the table's name is the name given in "+
		"the configuration", errFinal, r.name, strings.Join(names, ", "))
}

// Count implements dataset.Table.
func (r *Rows) Count() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.ids)
}

func (r *Rows) id(i int) int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ids[i]
}

// Place implements dataset.Table.
func (r *Rows) Place(i int) string { return fmt.Sprintf("table %s, id %d", r.name, r.id(i)) }

// Row implements dataset.Table.
func (r *Rows) Row(i int) (dataset.Row, error) {
	id, ctx := r.id(i), context.Background()
	texts := make([]sql.NullString, len(r.schema.columns))
	into := make([]any, len(texts))
	for j := range texts {
		into[j] = &texts[j]
	}
	err := r.db.retry(ctx, r.Place(i), func(tx *sql.Tx) error {
		query := `SELECT ` + strings.Join(r.schema.columns, ", ") + ` FROM ` + quoted(r.name) + ` WHERE id = ?`
		err := tx.QueryRowContext(ctx, r.db.bind(query), id).Scan(into...)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %s is gone; leave rows where they are while they are read", errFinal, r.Place(i))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	values := make([]any, len(texts))
	for j, t := range texts {
		if values[j], err = dataset.Value([]byte(t.String)); err != nil || !t.Valid {
			return nil, fmt.Errorf("buffer: %s: column %s is no JSON: %.60q", r.Place(i), r.schema.columns[j], t.String)
		}
	}
	row, err := r.schema.row(values)
	if err != nil {
		return nil, fmt.Errorf("buffer: %s: %w", r.Place(i), err)
	}
	return row, nil
}

func taskRow(values []any) (dataset.Row, error) {
	if row, ok := values[0].(dataset.Row); ok {
		return row, nil
	}
	return nil, fmt.Errorf("column raw_task must be an object: %v", values[0])
}

// pairRow takes two whole conversations apart: what both begin with is the prompt, and at least one message of each is
// an answer.
func pairRow(values []any) (dataset.Row, error) {
	chosen, ok1 := values[0].([]any)
	rejected, ok2 := values[1].([]any)
	if !ok1 || !ok2 || len(chosen) < 2 || len(rejected) < 2 {
		return nil, errors.New("chosen_message_list and rejected_message_list must be lists of at least two messages")
	}
	n := 0
	for n < min(len(chosen), len(rejected))-1 && reflect.DeepEqual(chosen[n], rejected[n]) {
		n++
	}
	if n == 0 {
		return nil, errors.New("chosen_message_list and rejected_message_list have no message in common to begin with")
	}
	return dataset.Row{{Key: MessagesColumn, Value: chosen[:n:n]}, {Key: ChosenColumn, Value: chosen[n:]},
		{Key: RejectedColumn, Value: rejected[n:]}}, nil
}

// Close closes the database.
func (r *Rows) Close() error { return r.db.Close() }
