package buffer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
)

// database is an open SQLite or Postgres database with what differs between the two.
type database struct {
	*sql.DB
	dialect
	retries int           // further attempts at a transaction that failed
	pause   time.Duration // between attempts
	fs      disk.FS       // that transactions go through
}

// dialect is one database's way to say things.
type dialect struct {
	serial string // the type of a primary key that counts up
	id     string // the type of its values
	blob   string
	// statement that makes writers of a table wait for one another, with %s for the table; "" when they do anyway
	lock   string
	tables string // query of the names of all tables
	// query of the names of a table's columns
	columns string
	param   func(i int) string
}

func sqliteDialect() dialect {
	return dialect{serial: "INTEGER PRIMARY KEY AUTOINCREMENT", id: "INTEGER", blob: "BLOB",
		tables:  `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name`,
		columns: `SELECT name FROM pragma_table_info(?)`,
		param:   func(int) string { return "?" }}
}

// Postgres gives ids before the transactions that use them end, so a lower id can appear after a higher one: with the
// table locked ids are in the order of the commits.
func postgresDialect() dialect {
	return dialect{serial: "BIGSERIAL PRIMARY KEY", id: "BIGINT", blob: "BYTEA",
		lock: "LOCK TABLE %s IN EXCLUSIVE MODE",
		tables: `SELECT table_name FROM information_schema.tables WHERE table_schema = ANY (current_schemas(false)) ` +
			`ORDER BY table_name`,
		columns: `SELECT column_name FROM information_schema.columns WHERE table_schema = ANY ` +
			`(current_schemas(false)) AND table_name = ?`, param: func(i int) string { return "$" + strconv.Itoa(i) }}
}

// openDatabase opens a database by the URL that SQLAlchemy would take: sqlite:///relative.db, sqlite:////absolute.db,
// postgresql://user:password@host/name, with a driver's name after a plus sign ignored.
func openDatabase(address string) (*database, error) {
	return open(address, url.Values{"_pragma": {"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"}})
}

// openReading opens a database that somebody else fills: nothing is made and nothing is changed.
func openReading(address string) (*database, error) {
	if path, ok := sqliteFile(address); ok {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("buffer: the database is not there: %w", err)
		}
	}
	return open(address, url.Values{"_pragma": {"busy_timeout(20000)"}, "mode": {"ro"}})
}

// open opens a database; query is how, if it is SQLite.
func open(address string, query url.Values) (*database, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+")
	if !ok {
		return nil, fmt.Errorf("buffer: %q is not a database URL; write sqlite:///file.db or "+
			"postgresql://user:password@host/name", address)
	}
	switch scheme {
	case "sqlite":
		path, ok := sqliteFile(address)
		if !ok {
			return nil, fmt.Errorf("buffer: %q names no plain file; write sqlite:///file.db, and a fourth slash for "+
				"a path from the root", address)
		}
		return &database{DB: sqlite.Open(path, query), fs: disk.OS(), dialect: sqliteDialect()}, nil
	case "postgresql", "postgres":
		conf, err := pgx.ParseConfig("postgresql://" + rest)
		if err != nil {
			return nil, fmt.Errorf("buffer: cannot read the database URL: %w", err)
		}
		return &database{DB: stdlib.OpenDB(*conf), fs: disk.OS(), dialect: postgresDialect()}, nil
	}
	return nil, fmt.Errorf("buffer: databases of kind %q are not supported; use sqlite:///file.db or "+
		"postgresql://user:password@host/name", scheme)
}

// sqliteFile is the file that an SQLite URL names.
func sqliteFile(address string) (path string, ok bool) {
	scheme, rest, _ := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+")
	path = strings.TrimPrefix(rest, "/")
	return path, scheme == "sqlite" && path != "" && !strings.Contains(path, "?")
}

// retry runs a transaction until an attempt succeeds or none is left. Transactions given to it do nothing when what
// they want is done already, so that one whose answer was lost may be asked for again.
func (d *database) retry(ctx context.Context, what string, f func(*sql.Tx) error) error {
	var errs error
	for attempt := 0; ; attempt++ {
		err := d.once(ctx, what, f)
		if err == nil || ctx.Err() != nil || errors.Is(err, errFinal) {
			return err
		}
		errs = err
		if attempt >= d.retries {
			return fmt.Errorf("buffer: %s failed %d times, the last time with: %w; see max_retry_times and "+
				"max_retry_interval", what, attempt+1, errs)
		}
		if err := pause.For(ctx, d.pause); err != nil {
			return err
		}
	}
}

// errFinal marks errors that another attempt would not mend.
var errFinal = errors.New("buffer")

func (d *database) once(ctx context.Context, what string, f func(*sql.Tx) error) error {
	begun := false
	err := d.fs.Transaction(what, func() error {
		begun = true
		return d.transact(ctx, f)
	})
	if err != nil && !begun {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	return err
}

// transact is one attempt at a transaction.
func (d *database) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// lockTable makes other writers of a table wait until the transaction ends.
func (d *database) lockTable(ctx context.Context, tx *sql.Tx, table string) error {
	if d.lock == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf(d.lock, table))
	return err
}

// bind puts the dialect's parameters where a query has question marks.
func (d *database) bind(query string) string {
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString(d.param(n))
	}
	return b.String()
}

// quoted is a name as an identifier of SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
