package dataset

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

const (
	blockRows  = 128 // rows that are decoded together
	blocksKept = 32
)

// storage is the source of a parquet file: a file, or memory.
type storage interface {
	io.ReaderAt
	io.Closer
}

// parquetFile is an open parquet file. Only its footer is read at first; then blocks of rows as they are asked for.
type parquetFile struct {
	path   string
	data   storage
	meta   *pq.FileMetaData
	groups []parquet.RowGroup
	starts []int // first row of each group, and the number of all rows
	shape  *node
	leaves int

	mu     sync.Mutex
	blocks map[int][]Row // by first row
	recent []int         // first rows of blocks, the oldest first
	rows   parquet.Rows  // of group, the next row being next; nil before the first
	group  int
	next   int
}

func openParquet(path string) (*parquetFile, error) {
	data, err := disk.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	st, err := data.Stat()
	if err != nil {
		data.Close()
		return nil, fmt.Errorf("dataset: %w", err)
	}
	f, err := newParquet(path, data, st.Size())
	if err != nil {
		data.Close()
	}
	return f, err
}

// newParquet reads the footer of a file of the given size. The caller closes data if that fails.
func newParquet(path string, data storage, size int64) (*parquetFile, error) {
	f := &parquetFile{path: path, data: data, blocks: map[int][]Row{}}
	if err := guard(func() error { return f.open(size) }); err != nil {
		if errors.As(err, new(codecError)) {
			return nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
		return nil, fmt.Errorf("dataset: %s is not a parquet file that can be read: %w; fetch it again", path, err)
	}
	return f, nil
}

// guard makes the panics by which the decoder reports damaged files errors.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	return f()
}

func (f *parquetFile) open(size int64) (err error) {
	if f.meta, err = readFooter(f.data, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(f.data, size, parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return err
	}
	f.groups = file.RowGroups()
	n := 0
	for _, g := range f.groups {
		f.starts = append(f.starts, n)
		n += int(g.NumRows())
	}
	f.starts = append(f.starts, n)
	f.shape, f.leaves, err = newNode(file.Root(), 0, 0, 0)
	return err
}

// Count implements Table.
func (f *parquetFile) Count() int { return f.starts[len(f.starts)-1] }

// Place implements Table.
func (f *parquetFile) Place(i int) string { return fmt.Sprintf("%s, row %d", f.path, i) }

// Close closes the file.
func (f *parquetFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(guard(f.seekNowhere), f.data.Close())
}

func (f *parquetFile) seekNowhere() error {
	rows := f.rows
	f.rows = nil
	if rows == nil {
		return nil
	}
	return rows.Close()
}

// Row returns row i, from a block that is in memory or is read now.
func (f *parquetFile) Row(i int) (Row, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := 0
	for i >= f.starts[g+1] {
		g++
	}
	first := f.starts[g] + (i-f.starts[g])/blockRows*blockRows
	block, ok := f.blocks[first]
	if !ok {
		err := guard(func() (err error) {
			block, err = f.read(g, first, min(blockRows, f.starts[g+1]-first))
			return err
		})
		if err != nil {
			f.rows = nil // its position is not known
			return nil, fmt.Errorf("dataset: %s: %w; fetch the file again", f.Place(i), err)
		}
		f.keep(first, block)
	}
	return block[i-first], nil
}

func (f *parquetFile) keep(first int, block []Row) {
	if len(f.recent) == blocksKept {
		delete(f.blocks, f.recent[0])
		f.recent = f.recent[1:]
	}
	f.blocks[first] = block
	f.recent = append(f.recent, first)
}

// read decodes n rows of group g from row first on. Reading on where the last call stopped needs no search.
func (f *parquetFile) read(g, first, n int) ([]Row, error) {
	if f.rows == nil || f.group != g {
		if err := f.seekNowhere(); err != nil {
			return nil, err
		}
		if err := checkPages(f.data, &f.meta.RowGroups[g]); err != nil {
			return nil, err
		}
		f.rows, f.group, f.next = f.groups[g].Rows(), g, f.starts[g]
	}
	if f.next != first {
		if err := f.rows.SeekToRow(int64(first - f.starts[g])); err != nil {
			return nil, err
		}
	}
	block := make([]Row, 0, n)
	buf := make([]parquet.Row, min(n, 32))
	for len(block) < n {
		got, err := f.rows.ReadRows(buf[:min(len(buf), n-len(block))])
		for _, r := range buf[:got] {
			row, err := f.shape.assemble(r, f.leaves)
			if err != nil {
				return nil, err
			}
			block = append(block, row)
		}
		if err != nil && (err != io.EOF || len(block) < n) {
			return nil, noEOF(err)
		}
		if got == 0 && err == nil {
			return nil, io.ErrNoProgress
		}
	}
	f.next = first + n
	return block, nil
}
