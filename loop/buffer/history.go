package buffer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// History keeps what a proxy records: experiences that wait for a reward, and then for the commit that hands them on.
// Its table has upstream's name, proxy_history, and columns, and beside them the step that took an experience.
type History struct {
	db    *database
	blobs blobs
}

// historyTable is the name of its table.
const historyTable = "proxy_history"

// OpenHistory opens or makes the history at a database URL, whose transactions go through that file system.
func OpenHistory(ctx context.Context, address string, through disk.FS) (*History, error) {
	if err := makeFolder(through, address); err != nil {
		return nil, err
	}
	db, err := openDatabase(address)
	if err != nil {
		return nil, err
	}
	db.fs, db.retries, db.pause = through, 3, time.Second
	h := &History{db: db, blobs: blobs{db: db, name: historyTable}}
	err = db.retry(ctx, "making the history", func(tx *sql.Tx) error {
		for _, q := range []string{
			`CREATE TABLE IF NOT EXISTS proxy_history (id ` + db.serial + `, timestamp TIMESTAMP DEFAULT ` +
				`CURRENT_TIMESTAMP, task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, ` +
				`reward DOUBLE PRECISION, consumed INTEGER DEFAULT 0, committed INTEGER DEFAULT 0)`,
			`CREATE INDEX IF NOT EXISTS proxy_history_msg_id ON proxy_history (msg_id)`,
		} {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		if err := h.blobs.create(ctx, tx, "committed INTEGER DEFAULT 0"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `CREATE INDEX IF NOT EXISTS proxy_history_committed ON proxy_history (committed)`)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return h, nil
}

// Record keeps the experiences of an answer under the answer's id.
func (h *History) Record(ctx context.Context, id string, list []*experience.Experience) error {
	return h.db.retry(ctx, "recording", func(tx *sql.Tx) error {
		for _, e := range list {
			if err := h.insert(ctx, tx, e, Grade{Task: e.EID.Task, Run: e.EID.Run}, id, nil, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// Grade is an experience's reward and group.
type Grade struct {
	Task   string
	Run    int
	Reward float64
}

// Graded keeps an experience that has its reward already, under an id that is not there yet.
func (h *History) Graded(ctx context.Context, id string, g Grade, e *experience.Experience) error {
	return h.db.retry(ctx, "recording", func(tx *sql.Tx) error {
		n, err := h.kept(ctx, tx, id)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: %w", errFinal, &FeedbackError{Used: []string{id}})
		}
		return h.insert(ctx, tx, e, g, id, &g.Reward, 1)
	})
}

// insert adds an experience under an answer's id.
func (h *History) insert(ctx context.Context, tx *sql.Tx, e *experience.Experience, g Grade, id string, reward *float64,
	consumed int) error {
	var n int64
	err := tx.QueryRowContext(ctx, h.db.bind(`INSERT INTO proxy_history (task_id, run_id, msg_id, model_version, `+
		`reward, consumed, committed) VALUES (?, ?, ?, ?, ?, ?, 0) RETURNING id`),
		g.Task, g.Run, id, e.Info.ModelVersion, reward, consumed).Scan(&n)
	if err != nil {
		return err
	}
	return h.blobs.put(ctx, tx, n, serialize(e))
}

// Has reports whether something is kept under an id.
func (h *History) Has(ctx context.Context, id string) (there bool, err error) {
	err = h.db.retry(ctx, "reading the history", func(tx *sql.Tx) error {
		n, err := h.kept(ctx, tx, id)
		there = n > 0
		return err
	})
	return there, err
}

// kept is how many experiences are kept under an id.
func (h *History) kept(ctx context.Context, tx *sql.Tx, id string) (n int, err error) {
	err = tx.QueryRowContext(ctx, h.db.bind(`SELECT COUNT(*) FROM proxy_history WHERE msg_id = ?`), id).Scan(&n)
	return n, err
}

// FeedbackError names the answers that could not be given a reward.
type FeedbackError struct {
	Unknown []string // ids of no answer
	Used    []string // ids of answers that have a reward already
}

func (e *FeedbackError) Error() string {
	var parts []string
	if len(e.Unknown) > 0 {
		parts = append(parts, "there is no answer with the id "+strings.Join(e.Unknown, ", "))
	}
	if len(e.Used) > 0 {
		parts = append(parts, "a reward was given before to "+strings.Join(e.Used, ", "))
	}
	return strings.Join(parts, "; ") + "; nothing was changed"
}

// Feedback gives the answers with these ids a reward, all of them or none, and returns how many experiences that were.
// If one is not known or has a reward already, the error wraps a FeedbackError.
func (h *History) Feedback(ctx context.Context, ids []string, task string, run int,
	reward float64) (n int64, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	err = h.db.retry(ctx, "feedback", func(tx *sql.Tx) error {
		n = 0
		var wrong FeedbackError
		for _, id := range ids {
			res, err := tx.ExecContext(ctx, h.db.bind(`UPDATE proxy_history SET reward = ?, task_id = ?, run_id = ?,`+
				` consumed = consumed + 1 WHERE msg_id = ? AND consumed = 0`), reward, task, run, id)
			if err != nil {
				return err
			}
			more, err := res.RowsAffected()
			if err == nil && more == 0 {
				err = h.whyNot(ctx, tx, id, &wrong)
			}
			if err != nil {
				return err
			}
			n += more
		}
		if len(wrong.Unknown)+len(wrong.Used) > 0 {
			return fmt.Errorf("%w: %w", errFinal, &wrong)
		}
		return nil
	})
	return n, err
}

// whyNot notes why an answer cannot be given a reward.
func (h *History) whyNot(ctx context.Context, tx *sql.Tx, id string, into *FeedbackError) error {
	n, err := h.kept(ctx, tx, id)
	if err != nil {
		return err
	}
	if n == 0 {
		into.Unknown = append(into.Unknown, id)
	} else {
		into.Used = append(into.Used, id)
	}
	return nil
}

// Commit makes a step of all experiences that have a reward and are in no step yet, and returns how many those are;
// none make no step. A step that is there already is left as it is.
func (h *History) Commit(ctx context.Context, step int) (n int, err error) {
	err = h.db.retry(ctx, fmt.Sprintf("commit %d", step), func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, h.db.bind(`SELECT COUNT(*) FROM proxy_history WHERE committed = ?`),
			step).Scan(&n); err != nil || n > 0 {
			return err
		}
		res, err := tx.ExecContext(ctx, h.db.bind(`UPDATE proxy_history SET committed = ? WHERE consumed > 0 AND `+
			`committed = 0`), step)
		if err != nil {
			return err
		}
		rows, err := res.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}

// Last is the last step, 0 for none.
func (h *History) Last(ctx context.Context) (step int, err error) {
	err = h.db.retry(ctx, "reading the history", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(committed), 0) FROM proxy_history`).Scan(&step)
	})
	return step, err
}

// Counts are how many experiences there are, and how many have a reward and are in no step.
func (h *History) Counts(ctx context.Context) (total, ready int, err error) {
	err = h.db.retry(ctx, "counting the history", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN consumed > 0 AND committed = 0 THEN `+
			`1 ELSE 0 END), 0) FROM proxy_history`).Scan(&total, &ready)
	})
	return total, ready, err
}

// Recent returns the experiences recorded last, oldest first, as many as take about most bytes. What
// cannot be read is passed over.
func (h *History) Recent(ctx context.Context, most int) (list []*experience.Experience, err error) {
	err = h.db.retry(ctx, "reading the history", func(tx *sql.Tx) error {
		list = nil
		rows, err := tx.QueryContext(ctx, `SELECT `+h.blobs.of()+` FROM proxy_history ORDER BY id DESC`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for left := most; left > 0 && rows.Next(); {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			left -= len(data)
			if e, err := deserialize(data, row{}); err == nil {
				list = append(list, e)
			}
		}
		slices.Reverse(list)
		return rows.Err()
	})
	return list, err
}

// Step returns the experiences of a step, grouped by task, with their rewards, tasks and runs.
func (h *History) Step(ctx context.Context, step int) (list []*experience.Experience, err error) {
	err = h.db.retry(ctx, fmt.Sprintf("reading step %d", step), func(tx *sql.Tx) error {
		list = nil
		rows, err := tx.QueryContext(ctx, h.db.bind(`SELECT `+h.blobs.of()+`, task_id, run_id, msg_id, reward FROM `+
			`proxy_history WHERE committed = ? ORDER BY task_id, run_id, id`), step)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var data []byte
			var task, id string
			var run int
			var reward float64
			if err := rows.Scan(&data, &task, &run, &id, &reward); err != nil {
				return err
			}
			e, err := deserialize(data, row{task: task, suffix: id, run: run, reward: &reward})
			if err != nil {
				return fmt.Errorf("%w: answer %s: %w", errFinal, id, err)
			}
			e.EID.Batch, e.EID.Task, e.EID.Run = fmt.Sprint(step), task, run
			e.SetReward(reward)
			list = append(list, e)
		}
		return rows.Err()
	})
	return list, err
}

// Close closes the database.
func (h *History) Close() error { return h.db.Close() }
