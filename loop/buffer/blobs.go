package buffer

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// blobs are the serialised experiences of a table. They lie in a table beside it, <name>_blob, as Trinity-RFT 0.6.0 has
// them; 0.5.2, and this program before, had them in a column of the table itself, which is read as well.
type blobs struct {
	db     *database
	name   string // of the table whose rows they belong to
	inline bool   // the table has the column
}

// create makes the table of blobs, and gives the table beside it the columns that it lacks: Trinity-RFT made it, or an
// earlier version.
func (b *blobs) create(ctx context.Context, tx *sql.Tx, columns ...string) error {
	has, err := b.columns(ctx, tx)
	if err != nil {
		return err
	}
	b.inline = slices.Contains(has, "experience_bytes")
	statements := []string{`CREATE TABLE IF NOT EXISTS ` + quoted(b.name+"_blob") + ` (id ` + b.db.id +
		` PRIMARY KEY, experience_bytes ` + b.db.blob + ` NOT NULL)`}
	for _, column := range columns {
		if name, _, _ := strings.Cut(column, " "); !slices.Contains(has, name) {
			statements = append(statements, `ALTER TABLE `+quoted(b.name)+` ADD COLUMN `+column)
		}
	}
	for _, q := range statements {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// columns lists the columns of the table beside.
func (b *blobs) columns(ctx context.Context, tx *sql.Tx) ([]string, error) {
	return column[string](tx.QueryContext(ctx, b.db.bind(b.db.columns), b.name))
}

// of is the blob of a row, in a query of the table beside.
func (b *blobs) of() string {
	beside, own := quoted(b.name), quoted(b.name+"_blob")
	blob := `(SELECT ` + own + `.experience_bytes FROM ` + own + ` WHERE ` + own + `.id = ` + beside + `.id)`
	if b.inline {
		return `COALESCE(` + blob + `, ` + beside + `.experience_bytes)`
	}
	return blob
}

// put adds the blob of a row.
func (b *blobs) put(ctx context.Context, tx *sql.Tx, id int64, data []byte) error {
	_, err := tx.ExecContext(ctx, b.db.bind(`INSERT INTO `+quoted(b.name+"_blob")+
		` (id, experience_bytes) VALUES (?, ?)`), id, data)
	return err
}
