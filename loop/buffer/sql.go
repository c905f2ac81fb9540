package buffer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// SQL is an experience buffer in a database, shared by any number of processes. The table of a buffer has the buffer's
// name and Trinity-RFT's columns (id, timestamp, task_id, run_id, msg_id, model_version, reward, consumed), and
// <name>_blob the bytes of each experience, in Trinity-RFT's form. It may add to what Trinity-RFT has written.
//
// Three more tables beside it make it survive kills: <name>_steps says which explore steps each writer has put,
// <name>_writers who writes and whether it has finished, <name>_reads which experiences each read was given. A step is
// put once and a read is given once, however often either is asked for again.
type SQL struct {
	db       *database
	name     string
	blobs    blobs
	first    *Priority // nil: first in, first out
	now      func() time.Time
	timeout  time.Duration
	starved  func(put int) error
	steps    int
	epochs   int
	earliest bool // Earliest of the options
	resumed  bool // a writer was seen at work since the buffer was opened
}

// SQLOptions say how a buffer is read and how patient it is.
type SQLOptions struct {
	Timeout time.Duration    // of a Read while nothing new arrives; 0 waits forever
	First   *Priority        // the order of reading; nil: first in, first out, each experience once
	Now     func() time.Time // for cooling down; time.Now by default
	// Earliest: however late a read comes, it sees the buffer as it was when enough of what nobody has used was put.
	Earliest bool
	Retries  int           // further attempts at a transaction that failed
	Pause    time.Duration // between attempts
	FS       disk.FS       // that transactions go through; the default is disk.OS
	// Steps is how many explore steps a reader expects of the writers; 0 is unknown. Writers that had all finished
	// before the buffer was opened, with fewer, are expected to begin again: the job is planned longer now. Epochs is
	// the same where the plan counts passes over the tasks; a writer that finishes notes how many were its plan.
	Steps, Epochs int
	// Starved, if set, is told how many experiences had been put in all, each time that a Read finds too few.
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
	s := &SQL{db: db, name: name, blobs: blobs{db: db, name: name}, first: o.First, now: o.Now, timeout: o.Timeout,
		starved: o.Starved, steps: o.Steps, epochs: o.Epochs, earliest: o.Earliest}
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
			`CURRENT_TIMESTAMP, task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, ` +
			`reward DOUBLE PRECISION, consumed INTEGER DEFAULT 0)`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_steps") +
			` (writer VARCHAR(64), step INTEGER, experiences INTEGER, PRIMARY KEY (writer, step))`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_writers") + ` (writer VARCHAR(64) PRIMARY KEY, finished INTEGER)`,
		`CREATE TABLE IF NOT EXISTS ` + s.table("_reads") +
			` (number INTEGER, place INTEGER, id BIGINT, PRIMARY KEY (number, place))`,
	}
	for _, column := range []string{"task_id", "run_id", "msg_id", "model_version", "reward", "consumed"} {
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
	return s.blobs.create(ctx, tx, "item BIGINT", "noise DOUBLE PRECISION DEFAULT 0",
		"ready DOUBLE PRECISION DEFAULT 0", "evicted INTEGER DEFAULT 0")
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
			` (task_id, run_id, msg_id, model_version, reward, consumed) VALUES (?, ?, ?, ?, ?, 0) RETURNING id`))
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, e := range list {
			var id int64
			err := insert.QueryRowContext(ctx, e.EID.Task, e.EID.Run, e.EID.Suffix, e.Info.ModelVersion,
				e.Reward).Scan(&id)
			if err == nil {
				err = s.blobs.put(ctx, tx, id, serialize(e))
			}
			if err != nil {
				return err
			}
		}
		return s.settle(ctx, tx)
	})
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
		query := `SELECT COUNT(*) FROM ` + s.table("") + ` WHERE COALESCE(model_version, 0) >= ? AND ` + s.there(true)
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
