package buffer

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Table is the Exchange that explorers and a trainer share in a database, in one process or several. Its position
// counts reads.
type Table struct {
	db       *SQL
	writer   string
	trainer  Waiter
	listener Listener     // nil: nobody else needs to know
	last     atomic.Int64 // explore step put; the trainer asks too
	reads    int          // given to the trainer

	mu    sync.Mutex
	total int // experiences in the table when this process's explorer put last; more than there can be while it puts
}

// Listener is told the state of the trainer of a table, for explorers of other processes.
type Listener interface {
	// Starved: the trainer found too few experiences when seen had been put in all.
	Starved(seen int) error
	// Fed: it has what it needs.
	Fed() error
}

// TableOptions say which table, for whom.
type TableOptions struct {
	SQLOptions        // Starved is the Table's own
	URL, Name  string // of the database and the table
	Writer     string // the explorer of this process
	Puts       bool   // that explorer is at work
	Reads      int    // given before this process began; they are not given again
	Trainer    Waiter
	Listener   Listener
}

// OpenTable opens the table, and makes it if need be.
func OpenTable(ctx context.Context, o TableOptions) (*Table, error) {
	if err := makeFolder(o.FS, o.URL); err != nil {
		return nil, err
	}
	t := &Table{writer: o.Writer, trainer: o.Trainer, listener: o.Listener, reads: o.Reads}
	o.SQLOptions.Starved = t.starved
	var err error
	if t.db, err = OpenSQL(ctx, o.URL, o.Name, o.SQLOptions); err != nil || !o.Puts {
		return t, err
	}
	last, err := t.db.Begin(ctx, t.writer)
	if err != nil {
		return nil, errors.Join(err, t.db.Close())
	}
	t.last.Store(int64(last))
	return t, nil
}

// makeFolder makes the folder of an SQLite file.
func makeFolder(dfs disk.FS, url string) error {
	path, isFile := sqliteFile(url)
	if !isFile {
		return nil
	}
	return makeParent(dfs, path)
}

// Put implements Exchange.
func (t *Table) Put(ctx context.Context, step int, list []*experience.Experience) error {
	t.putting(math.MaxInt)
	if err := t.db.Put(ctx, t.writer, step, list); err != nil {
		return err
	}
	total, err := t.db.Total(ctx)
	if err != nil {
		return err
	}
	t.last.Store(int64(step))
	t.putting(total)
	return nil
}

// putting notes how many experiences there are: until the trainer has seen as many, it is not said to wait for more.
func (t *Table) putting(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = total
	t.trainer.SetIdle(false)
}

// starved is told how many experiences there were when the trainer found too few.
func (t *Table) starved(seen int) error {
	t.mu.Lock()
	t.trainer.SetIdle(seen >= t.total)
	t.mu.Unlock()
	if t.listener == nil {
		return nil
	}
	return t.listener.Starved(seen)
}

// Fed says that the trainer waits for nothing.
func (t *Table) Fed() error {
	t.trainer.SetIdle(false)
	if t.listener == nil {
		return nil
	}
	return t.listener.Fed()
}

// Take implements Exchange.
func (t *Table) Take(ctx context.Context, n, minVersion int) ([]*experience.Experience, error) {
	list, err := t.db.Read(ctx, t.reads+1, n, minVersion)
	if errors.Is(err, ErrClosed) {
		return nil, dataset.ErrEnd
	}
	if err != nil {
		return nil, err
	}
	t.reads++
	return list, t.Fed()
}

// Position implements Exchange.
func (t *Table) Position() Position { return Position{Count: t.reads} }

// Finish implements Exchange.
func (t *Table) Finish(ctx context.Context) error {
	return t.db.Finish(context.WithoutCancel(ctx), t.writer)
}

// Explored implements Exchange.
func (t *Table) Explored() (step int, kept bool) { return int(t.last.Load()), true }

// Short implements Exchange.
func (t *Table) Short(ctx context.Context, n, minVersion int) (bool, error) {
	there, err := t.db.Available(ctx, minVersion)
	return there < n, err
}

// Total is how many experiences were ever put, by anybody.
func (t *Table) Total(ctx context.Context) (int, error) { return t.db.Total(ctx) }

// Forget lets go of what it takes to give the reads up to a position again.
func (t *Table) Forget(ctx context.Context, read Position) error { return t.db.Forget(ctx, read.Count) }

// Close closes the database.
func (t *Table) Close() error { return t.db.Close() }
