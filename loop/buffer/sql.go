package buffer

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// SQL is an experience buffer in a database, shared by any number of processes. The table of a buffer has the buffer's
// name and Trinity-RFT's columns (id, timestamp, task_id, run_id, msg_id, model_version, experience_bytes, reward,
// consumed); the bytes are this program's encoding, experience.Append, where upstream's are a Python pickle.
//
// Three tables beside it make it survive kills: <name>_steps says which explore steps each writer has put,
// <name>_writers who writes and whether it has finished, <name>_reads which experiences each read was given. A step is
// put once and a read is given once, however often either is asked for again.
type SQL struct {
	db      *database
	name    string
	first   *Priority // nil: first in, first out
	now     func() time.Time
	timeout time.Duration
	starved func(put int) error
	steps   int
	epochs  int
	resumed bool // a writer was seen at work since the buffer was opened
}

// SQLOptions say how a buffer is read and how patient it is.
type SQLOptions struct {
	Timeout time.Duration    // of a Read while nothing new arrives; 0 waits for ever
	First   *Priority        // the order of reading; nil: first in, first out, each experience once
	Now     func() time.Time // for cooling down; time.Now by default
	Retries int              // further attempts at a transaction that failed
	Pause   time.Duration    // between attempts
	FS      disk.FS          // that transactions go through; the default is disk.OS
	// Steps is how many explore steps a reader expects of the writers; 0 is unknown. Writers that had all finished
	// before the buffer was opened, with fewer, are expected to begin again: the job is planned longer now. Epochs is
	// the same where the plan counts passes over the tasks; a writer that finishes notes how many were its plan.
	Steps, Epochs int
	// Starved, if set, hears each time that a Read finds too few experiences how many had been put in all.
	Starved func(put int) error
}

// OpenSQL opens the buffer called name at a database URL and makes its tables if need be.
func OpenSQL(ctx context.Context, address, name string, o SQLOptions) (*SQL, error) {
	db, err := openDatabase(address)
	if err != nil {
		return nil, err
	}
	db.retries, db.pause = o.Retries, o.Pause
	if o.FS != nil {
		db.fs = o.FS
	}
	s := &SQL{db: db, name: name, first: o.First, now: o.Now, timeout: o.Timeout, starved: o.Starved, steps: o.Steps,
		epochs: o.Epochs}
	if s.now == nil {
		s.now = time.Now
	}
	if err := db.retry(ctx, "making the tables of "+name,
		func(tx *sql.Tx) error { return s.create(ctx, tx) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// table is the identifier of the buffer's table with a suffix.
func (s *SQL) table(suffix string) string { return quoted(s.name + suffix) }

func (s *SQL) create(ctx context.Context, tx *sql.Tx) error {
	d := s.db.dialect
	statements := []string{
		`CREATE TABLE IF NOT EXISTS ` + s.table("") + ` (id ` + d.serial + `, timestamp TIMESTAMP DEFAULT ` +
			`CURRENT_TIMESTAMP, task_id VARCHAR(64), run_id INTEGER,
			msg_id VARCHAR(64), model_version INTEGER, experience_bytes ` + d.blob + `, reward DOUBLE PRECISION, ` +
			`consumed INTEGER DEFAULT 0,
			item BIGINT, noise DOUBLE PRECISION DEFAULT 0, ready DOUBLE PRECISION DEFAULT 0, evicted INTEGER ` +
			`DEFAULT 0)`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_steps") +
			` (writer VARCHAR(64), step INTEGER, experiences INTEGER, PRIMARY KEY (writer, step))`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_writers") + ` (writer VARCHAR(64) PRIMARY KEY, finished INTEGER)`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_reads") +
			` (number INTEGER, place INTEGER, id BIGINT, PRIMARY KEY (number, place))`,
	}
	for _, column := range []string{"task_id", "run_id", "msg_id", "model_version", "consumed"} {
		statements = append(statements, `CREATE INDEX IF NOT EXISTS `+s.table("_"+column)+` ON `+s.table("")+` (`+
			column+`)`)
	}
	if d.lock != "" { // two processes that make one table at a time are an error of Postgres
		statements = append([]string{`SELECT pg_advisory_xact_lock(hashtext('trinity buffer'))`}, statements...)
	}
	for _, q := range statements {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Begin says that writer will put steps, and returns the last one that it has put, 0 for none.
func (s *SQL) Begin(ctx context.Context, writer string) (last int, err error) {
	err = s.db.retry(ctx, "beginning to write", func(tx *sql.Tx) error {
		if err := s.setFinished(ctx, tx, writer, 0); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, s.db.bind(`SELECT COALESCE(MAX(step), 0) FROM `+s.table("_steps")+
			` WHERE writer = ?`), writer).Scan(&last)
	})
	return last, err
}

// Finish says that writer will put nothing more of as many Epochs as the buffer was opened with.
func (s *SQL) Finish(ctx context.Context, writer string) error {
	return s.db.retry(ctx, "ending to write",
		func(tx *sql.Tx) error { return s.setFinished(ctx, tx, writer, max(1, s.epochs)) })
}

func (s *SQL) setFinished(ctx context.Context, tx *sql.Tx, writer string, finished int) error {
	_, err := tx.ExecContext(ctx, s.db.bind(`INSERT INTO `+s.table("_writers")+` (writer, finished) VALUES (?, ?)
		ON CONFLICT (writer) DO UPDATE SET finished = excluded.finished`), writer, finished)
	return err
}

// Put stores the experiences of an explore step; a step that the writer has put before is left as it is.
func (s *SQL) Put(ctx context.Context, writer string, step int, list []*experience.Experience) error {
	return s.db.retry(ctx, fmt.Sprintf("putting step %d", step), func(tx *sql.Tx) error {
		if err := s.db.lockTable(ctx, tx, s.table("")); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, s.db.bind(`INSERT INTO `+s.table("_steps")+` (writer, step, experiences) `+
			`VALUES (?, ?, ?) ON CONFLICT DO NOTHING`), writer, step, len(list))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err // it was put before
		}
		insert, err := tx.PrepareContext(ctx, s.db.bind(`INSERT INTO `+s.table("")+
			` (task_id, run_id, msg_id, model_version, experience_bytes, reward) VALUES (?, ?, ?, ?, ?, ?)`))
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, e := range list {
			if _, err := insert.ExecContext(ctx, e.EID.Task, e.EID.Run, e.EID.Suffix, e.Info.ModelVersion,
				experience.Append(nil, e), e.Reward); err != nil {
				return err
			}
		}
		return s.settle(ctx, tx)
	})
}

// pollPause is how long a reader waits before it looks again: databases of this kind do not call back.
const pollPause = 100 * time.Millisecond

// Read waits for n experiences and returns them: those of read number (1, 2, …) if it was given before, else the oldest
// that nobody has read, or those of the highest Priority. Those sampled by a version below minVersion are left out when
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
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
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
	return scanIDs(tx.QueryContext(ctx, s.db.bind(`SELECT id FROM `+s.table("_reads")+
		` WHERE number = ? ORDER BY place`), number))
}

// choose picks at most n experiences for a new read.
func (s *SQL) choose(ctx context.Context, tx *sql.Tx, n, minVersion int, open bool) ([]int64, error) {
	where, args := []string{s.there(open)}, []any{}
	if minVersion > 0 {
		where, args = append(where, "model_version >= ?"), append(args, minVersion)
	}
	return scanIDs(tx.QueryContext(ctx, s.db.bind(`SELECT id FROM `+s.table("")+` WHERE `+strings.Join(where, " AND ")+
		` ORDER BY `+s.first.order()+` LIMIT ?`), append(args, n)...))
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

func scanIDs(rows *sql.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// load reads experiences in the order of their ids in the list.
func (s *SQL) load(ctx context.Context, tx *sql.Tx, ids []int64) ([]*experience.Experience, error) {
	list := make([]*experience.Experience, len(ids))
	for i, id := range ids {
		var data []byte
		var used int
		if err := tx.QueryRowContext(ctx, s.db.bind(`SELECT experience_bytes, consumed FROM `+s.table("")+
			` WHERE id = ?`), id).Scan(&data, &used); err != nil {
			return nil, fmt.Errorf("experience %d of table %s: %w", id, s.name, err)
		}
		if bytes.HasPrefix(data, []byte("TRXP")) {
			return nil, fmt.Errorf("%w: experience %d of table %s is a Python pickle, written by Trinity-RFT; "+
				"explore again with this program, or use another buffer name", errFinal, id, s.name)
		}
		e, rest, err := experience.Decode(data)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes too many", len(rest))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: experience %d of table %s: %w", errFinal, id, s.name, err)
		}
		e.Info.UseCount = used
		list[i] = e
	}
	return list, nil
}

func (s *SQL) put(ctx context.Context, tx *sql.Tx) (n int, err error) {
	err = tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(experiences), 0) FROM `+s.table("_steps")).Scan(&n)
	return n, err
}

// Total is how many experiences were ever put.
func (s *SQL) Total(ctx context.Context) (n int, err error) {
	err = s.db.retry(ctx, "counting", func(tx *sql.Tx) error { n, err = s.put(ctx, tx); return err })
	return n, err
}

// Available is how many experiences a new read could have.
func (s *SQL) Available(ctx context.Context, minVersion int) (n int, err error) {
	err = s.db.retry(ctx, "counting", func(tx *sql.Tx) error {
		query := `SELECT COUNT(*) FROM ` + s.table("") + ` WHERE model_version >= ? AND ` + s.there(true)
		return tx.QueryRowContext(ctx, s.db.bind(query), minVersion).Scan(&n)
	})
	return n, err
}

// Forget lets go of the record of reads up to and including number: they will not be asked for again.
func (s *SQL) Forget(ctx context.Context, number int) error {
	return s.db.retry(ctx, "forgetting reads", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.db.bind(`DELETE FROM `+s.table("_reads")+` WHERE number <= ?`), number)
		return err
	})
}

// Close closes the database.
func (s *SQL) Close() error { return s.db.Close() }
