package buffer

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// sqliteConnector opens connections to one SQLite file without the driver being registered under a name.
type sqliteConnector struct{ dsn string }

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(c.dsn)
}

// Driver implements driver.Connector.
func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }
