package dataset

import "fmt"

// List is rows in memory. It implements Table.
type List struct {
	Rows  []Row
	Where func(i int) string // the place of row i, for messages
}

// Count implements Table.
func (l *List) Count() int { return len(l.Rows) }

// Row implements Table.
func (l *List) Row(i int) (Row, error) {
	if i < 0 || i >= len(l.Rows) {
		return nil, fmt.Errorf("dataset: there is no row %d of %d", i, len(l.Rows))
	}
	return l.Rows[i], nil
}

// Place implements Table.
func (l *List) Place(i int) string { return l.Where(i) }

// Close implements Table.
func (l *List) Close() error { return nil }
