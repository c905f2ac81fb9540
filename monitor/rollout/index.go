package rollout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// Index knows where the records of a folder are. It is safe for concurrent use.
type Index struct {
	folder Folder
	read   []string // folders with index files; new ones go to the first that can be written to

	refresh sync.Mutex          // one at a time
	seen    map[string]int64    // how much of each index file is read
	kept    int64               // bytes of the studio's index file that counted when it was last looked through
	frames  map[string]*Segment // of index files, until their file is looked at

	mu     sync.Mutex
	table  *Table
	listed chan struct{} // closed when there was a table of files
}

// NewIndex is the index of a folder. Index files are read from the folders read, and written to the first of them that
// can be written to.
func NewIndex(folder Folder, read ...string) *Index {
	return &Index{folder: folder, read: read, table: &Table{}, listed: make(chan struct{})}
}

// Listed is closed when the index has a table of files, be they indexed or not.
func (x *Index) Listed() <-chan struct{} { return x.listed }

// Table is the current table. It does not change; the next Refresh makes another.
func (x *Index) Table() *Table {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.table
}

// Table is the index of a folder at one time: its files in order of set and step.
type Table struct {
	Files []*Indexed
	Bytes int64 // of all files
	Done  int64 // of those that are indexed
}

// Indexed is a file, with its rows if they are known.
type Indexed struct {
	File
	*Segment        // nil: not indexed yet
	Signal   []bool // of each row: its group's rewards differ
	Groups   []Group
}

// Group is the rows of one task in a file.
type Group struct {
	Name  string
	Rows  []int32
	Mean  float64 // of the rewards; NaN without any
	Std   float64
	Equal bool // there are several, all rewards are equal, and no advantage says anything else
}

// Refresh looks at the folder and indexes what is new. It tells after each change of the table how much is done.
func (x *Index) Refresh(ctx context.Context, told func(*Table)) error {
	x.refresh.Lock()
	defer x.refresh.Unlock()
	files, err := x.folder.Files()
	if err != nil {
		return err
	}
	before := x.Table().byName()
	known := maps.Clone(before)
	t, missing := x.match(files, known)
	if len(missing) > 0 {
		x.load() // the run may have written what is missing
		t, missing = x.match(files, known)
	}
	if len(missing) == 0 && len(t.Files) == len(before) && t.same(before) {
		return nil
	}
	x.set(t, told)
	if len(missing) == 0 {
		return nil
	}
	return x.scan(ctx, t, missing, told)
}

// same reports whether t and before have the same files.
func (t *Table) same(before map[string]*Indexed) bool {
	for _, f := range t.Files {
		if before[f.Name] != f {
			return false
		}
	}
	return true
}

// match makes the table of files, with the rows that are known. It adds to known what it finds in index files. A file
// that changed keeps the rows that it had until it is indexed again.
func (x *Index) match(files []File, known map[string]*Indexed) (t *Table, missing []stale) {
	t = &Table{Files: make([]*Indexed, len(files))}
	sortFiles(files)
	for i, f := range files {
		t.Bytes += f.Size
		was := known[f.Name]
		switch {
		case was != nil && was.File == f && was.Segment != nil:
			t.Files[i] = was
		case x.frames[f.Name].of(f):
			t.Files[i] = indexed(f, x.frames[f.Name])
			delete(x.frames, f.Name)
			known[f.Name] = t.Files[i]
		default:
			t.Files[i] = &Indexed{File: f}
			if was != nil {
				t.Files[i] = was
			}
			missing = append(missing, stale{i, f})
			continue
		}
		t.Done += f.Size
	}
	return t, missing
}

// stale is a file whose rows are unknown or out of date.
type stale struct {
	at int // in the table
	File
}

func (s *Segment) of(f File) bool { return s != nil && s.Size == f.Size && s.Time == f.Time }

func (x *Index) set(t *Table, told func(*Table)) {
	x.mu.Lock()
	x.table = t
	select {
	case <-x.listed:
	default:
		close(x.listed)
	}
	x.mu.Unlock()
	if told != nil {
		told(t)
	}
}

// pause is the time between two tables while files are indexed.
const pause = 200 * time.Millisecond

// scan indexes the missing files of a table, the newest first. It sets tables and writes the index as it goes.
func (x *Index) scan(ctx context.Context, from *Table, missing []stale, told func(*Table)) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	now := Table{Files: slices.Clone(from.Files), Bytes: from.Bytes, Done: from.Done}
	var mu sync.Mutex
	var fresh []*Segment
	at := time.Now()
	var failed error // of writing the index, which is then made again the next time
	publish := func() {
		next := now
		next.Files = slices.Clone(now.Files)
		x.set(&next, told)
		failed = x.save(fresh)
		fresh, at = nil, time.Now()
	}
	for _, f := range slices.Backward(missing) {
		work.Go(func() error {
			made, err := x.index(ctx, f.File)
			if err != nil {
				return ctx.Err() // else it is gone or cannot be read; the next look tells
			}
			mu.Lock()
			defer mu.Unlock()
			now.Files[f.at] = made
			now.Done += made.File.Size
			now.Bytes += made.File.Size - f.Size // it may have grown meanwhile
			fresh = append(fresh, made.Segment)
			if time.Since(at) > pause {
				publish()
			}
			return nil
		})
	}
	err := work.Wait()
	publish()
	return errors.Join(err, failed)
}

// index makes the index of one file as it is now.
func (x *Index) index(ctx context.Context, f File) (*Indexed, error) {
	s, err := x.folder.Scan(ctx, f)
	if err != nil {
		return nil, err
	}
	f.Size, f.Time = s.Size, s.Time
	return indexed(f, s), nil
}

// Look is the table of the files that want asks for, as they are now, for one who cannot wait until Refresh has all:
// what the index does not know is read, and forgotten again.
func (x *Index) Look(ctx context.Context, want func(*File) bool) (*Table, error) {
	files, err := x.folder.Files()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f File) bool { return !want(&f) })
	sortFiles(files)
	known := x.Table().byName()
	t := &Table{}
	for _, f := range files {
		file := known[f.Name]
		if file == nil || file.Segment == nil || file.File != f {
			if file, err = x.index(ctx, f); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				continue // it is gone, or cannot be read
			}
		}
		t.Files = append(t.Files, file)
		t.Bytes, t.Done = t.Bytes+file.File.Size, t.Done+file.File.Size
	}
	return t, nil
}

func (t *Table) byName() map[string]*Indexed {
	m := make(map[string]*Indexed, len(t.Files))
	for _, f := range t.Files {
		m[f.Name] = f
	}
	return m
}

// sortFiles puts files in the order of a table.
func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), cmp.Compare(a.Step, b.Step), strings.Compare(a.Name, b.Name))
	})
}

// indexed adds what is computed from the rows.
func indexed(f File, s *Segment) *Indexed {
	x := &Indexed{File: f, Segment: s, Signal: make([]bool, len(s.Rows))}
	at := map[string]int{}
	for i := range s.Rows {
		name := s.Rows[i].Group
		g, ok := at[name]
		if !ok {
			g = len(x.Groups)
			at[name] = g
			x.Groups = append(x.Groups, Group{Name: name})
		}
		x.Groups[g].Rows = append(x.Groups[g].Rows, int32(i))
	}
	for i := range x.Groups {
		g := &x.Groups[i]
		g.measure(s.Rows)
		for _, row := range g.Rows {
			x.Signal[row] = !g.Equal
		}
	}
	return x
}

func (g *Group) measure(rows []Row) {
	var rewards []float64
	most := 0.0
	for _, i := range g.Rows {
		if v := rows[i].Reward; !math.IsNaN(v) {
			rewards = append(rewards, v)
		}
		most = max(most, math.Abs(orZero(rows[i].Advantage)))
	}
	g.Equal = len(rewards) > 1 && moment.Equal(rewards) && most < 1e-9
	if g.Mean, g.Std = math.NaN(), math.NaN(); len(rewards) == 0 {
		return
	}
	g.Mean = moment.Mean(rewards)
	g.Std = moment.Deviation(rewards, g.Mean, len(rewards)-1)
}

// orZero is 0 for NaN.
func orZero(v float32) float64 {
	if v != v {
		return 0
	}
	return float64(v)
}
