// Package sqlite opens SQLite files without registering the driver under a name.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"

	"modernc.org/sqlite"
)

// Open opens a file with parameters of the driver, such as mode and _pragma. All statements share one connection:
// SQLite has one writer at a time.
func Open(path string, query url.Values) *sql.DB {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db := sql.OpenDB(connector{u.String()})
	db.SetMaxOpenConns(1)
	return db
}

type connector struct{ name string }

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.name) }

// Driver implements driver.Connector.
func (connector) Driver() driver.Driver { return &sqlite.Driver{} }
