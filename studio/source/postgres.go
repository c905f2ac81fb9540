package source

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// postgres is a table of experiences on a Postgres server. It is one file, as a database in a file is.
type postgres struct{ url, table, shown string }

// Files implements rollout.Folder. Its size is the highest id, since rows are only added.
func (p postgres) Files() ([]rollout.File, error) {
	x, err := p.open()
	if err != nil {
		return nil, err
	}
	defer x.Close()
	f := rollout.File{Name: p.table}
	if err := x.db.QueryRow("SELECT COALESCE(MAX(id), 0) FROM " + quoteName(p.table)).Scan(&f.Size); err != nil {
		return nil, fmt.Errorf("source: %s: %w", p.shown, err)
	}
	return []rollout.File{f}, nil
}

// Scan implements rollout.Folder.
func (p postgres) Scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	x, err := p.open()
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.scan(ctx, f)
}

// Open implements rollout.Folder.
func (p postgres) Open(rollout.File) (rollout.Opened, error) { return p.open() }

var inPostgres = catalog{`SELECT table_name FROM information_schema.tables WHERE table_schema = ANY ` +
	`(current_schemas(false)) ORDER BY table_name`,
	`SELECT column_name FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false)) AND ` +
		`table_name = %s`}

// open opens the database by a URL as SQLAlchemy takes it, with a driver's name after a plus sign ignored.
func (p postgres) open() (*database, error) {
	_, rest, _ := strings.Cut(p.url, "://")
	conf, err := pgx.ParseConfig("postgresql://" + rest)
	if err != nil {
		return nil, fmt.Errorf("source: cannot read the database URL: %w", err)
	}
	conf.ConnectTimeout = cmp.Or(conf.ConnectTimeout, 5*time.Second)
	x := &database{db: stdlib.OpenDB(*conf), name: p.shown}
	if err := x.choose(p.table, inPostgres); err != nil {
		x.db.Close()
		return nil, fmt.Errorf("source: %s: %w", p.shown, err)
	}
	return x, nil
}
