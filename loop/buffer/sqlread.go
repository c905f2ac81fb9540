package buffer

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// pollPause is how long a reader waits before it looks again: databases of this kind do not call back.
const pollPause = 100 * time.Millisecond

// Read waits for n experiences and returns them: the same ones if read number (1, 2, …) was given before, else the
// oldest unread ones, or the ones with the highest Priority. Samples of a version below minVersion are left out when
// minVersion > 0.
//
// The error is ErrTimeout when nothing new came for the whole time, ErrClosed when all writers have finished and fewer
// than n are left, or ctx's.
func (s *SQL) Read(ctx context.Context, number, n, minVersion int) ([]*experience.Experience, error) {
	begin, most := time.Now(), -1
	for {
		list, there, open, put, err := s.tryRead(ctx, number, n, minVersion)
		if err != nil || list != nil {
			return list, err
		}
		if s.starved != nil {
			if err := s.starved(put); err != nil {
				return nil, err
			}
		}
		if there > most {
			begin, most = time.Now(), there
		}
		if !open {
			return nil, ErrClosed
		}
		if s.timeout > 0 && time.Since(begin) > s.timeout {
			return nil, fmt.Errorf("%w after %v with %d of %d experiences in table %s; raise max_read_timeout or "+
				"look why the explorer is late", ErrTimeout, s.timeout, there, n, s.name)
		}
		if err := pause.For(ctx, pollPause); err != nil {
			return nil, err
		}
	}
}

// tryRead is one attempt: the list, or how many experiences there are, whether more may come, and how many were put in
// all.
func (s *SQL) tryRead(ctx context.Context, number, n,
	minVersion int) (list []*experience.Experience, there int, open bool, put int, err error) {
	err = s.db.retry(ctx, fmt.Sprintf("read %d", number), func(tx *sql.Tx) error {
		if err := s.db.lockTable(ctx, tx, s.table("")); err != nil {
			return err
		}
		ids, err := s.given(ctx, tx, number)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			if open, err = s.open(ctx, tx); err != nil {
				return err
			}
			if put, err = s.put(ctx, tx); err != nil {
				return err
			}
			if ids, err = s.choose(ctx, tx, n, minVersion, open); err != nil {
				return err
			}
			if there = len(ids); there < n {
				return nil
			}
			if err := s.give(ctx, tx, number, ids); err != nil {
				return err
			}
		}
		list, err = s.load(ctx, tx, ids)
		return err
	})
	return list, there, open, put, err
}

// open reports whether more experiences may come.
func (s *SQL) open(ctx context.Context, tx *sql.Tx) (bool, error) {
	var writers, working, short, last int
	query := `SELECT COUNT(*), COALESCE(SUM(CASE WHEN finished = 0 THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN finished < ? THEN 1 ELSE 0 END), 0), ` +
		`(SELECT COALESCE(MAX(step), 0) FROM ` + s.table("_steps") + `) FROM ` + s.table("_writers")
	err := tx.QueryRowContext(ctx, s.db.bind(query), s.epochs).Scan(&writers, &working, &short, &last)
	if err != nil {
		return false, err
	}
	if working > 0 {
		s.resumed = true
		return true, nil
	}
	return writers == 0 || !s.resumed && (last < s.steps || short > 0), nil
}

func (s *SQL) given(ctx context.Context, tx *sql.Tx, number int) ([]int64, error) {
	return column[int64](tx.QueryContext(ctx, s.db.bind(`SELECT id FROM `+s.table("_reads")+
		` WHERE number = ? ORDER BY place`), number))
}

// choose picks at most n experiences for a new read.
func (s *SQL) choose(ctx context.Context, tx *sql.Tx, n, minVersion int, open bool) ([]int64, error) {
	pick := func(where, order string, args ...any) ([]int64, error) {
		if minVersion > 0 {
			where, args = where+" AND COALESCE(model_version, 0) >= ?", append(args, minVersion)
		}
		return column[int64](tx.QueryContext(ctx, s.db.bind(`SELECT id FROM `+s.table("")+` WHERE `+where+
			` ORDER BY `+order+` LIMIT ?`), append(args, n)...))
	}
	if !s.earliest || s.first == nil {
		return pick(s.there(open), s.first.order())
	}
	unused, err := pick(s.there(false), "id")
	if err != nil || len(unused) < n {
		return unused, err
	}
	return pick(s.there(open)+` AND item <= (SELECT item FROM `+s.table("")+` WHERE id = ?)`, s.first.order(),
		unused[n-1])
}

// give notes that a read gets experiences, and counts their uses.
func (s *SQL) give(ctx context.Context, tx *sql.Tx, number int, ids []int64) error {
	for place, id := range ids {
		if _, err := tx.ExecContext(ctx, s.db.bind(`INSERT INTO `+s.table("_reads")+` (number, place, id) VALUES (?,`+
			` ?, ?)`), number, place, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.db.bind(`UPDATE `+s.table("")+` SET consumed = consumed + 1, ready = ? `+
			`WHERE id = ?`), s.ready(), id); err != nil {
			return err
		}
	}
	return s.stir(ctx, tx, ids)
}

// column reads the rows of a query of one column.
func column[T any](rows *sql.Rows, err error) (list []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// load reads experiences in the order of their ids in the list.
func (s *SQL) load(ctx context.Context, tx *sql.Tx, ids []int64) ([]*experience.Experience, error) {
	list := make([]*experience.Experience, len(ids))
	query := s.db.bind(`SELECT ` + s.blobs.of() + `, consumed, COALESCE(task_id, ''), COALESCE(run_id, 0), ` +
		`COALESCE(msg_id, ''), COALESCE(model_version, 0), reward FROM ` + s.table("") + ` WHERE id = ?`)
	for i, id := range ids {
		var data []byte
		var used int
		var r row
		if err := tx.QueryRowContext(ctx, query, id).Scan(&data, &used, &r.task, &r.run, &r.suffix, &r.version,
			&r.reward); err != nil {
			return nil, fmt.Errorf("experience %d of table %s: %w", id, s.name, err)
		}
		e, err := deserialize(data, r)
		if err != nil {
			return nil, fmt.Errorf("%w: experience %d of table %s: %w", errFinal, id, s.name, err)
		}
		e.Info.UseCount = used
		list[i] = e
	}
	return list, nil
}
