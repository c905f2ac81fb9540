package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	pq "github.com/parquet-go/parquet-go/format"
)

// The decoder takes the sizes that a file names as they are, and makes room for them. So that a damaged file cannot ask
// for gigabytes, sizes are compared with the file's before it sees them: the footer's at the start, the pages' when
// their group is read.

const (
	maxPage   = 64 << 20 // bytes of a page that is better compressed than maxRatio
	maxRatio  = 1100     // the best that deflate does
	maxValues = 1 << 25  // of a page
)

var errDamaged = errors.New("damaged: a size or place in it is outside of the file")

// readFooter reads the file's own description of itself.
func readFooter(r io.ReaderAt, size int64) (*pq.FileMetaData, error) {
	var tail [8]byte
	if size < 12 {
		return nil, errors.New("too short")
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	if magic := string(tail[4:]); magic != "PAR1" {
		return nil, fmt.Errorf("it ends with %q and not with PAR1", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 {
		return nil, errDamaged
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return nil, err
	}
	meta := new(pq.FileMetaData)
	b := bytes.NewReader(footer)
	if err := decode(b, func() int64 { return int64(b.Len()) }, meta); err != nil {
		return nil, err
	}
	return meta, checkFooter(meta, size)
}

// codecError is a column whose compression is not read. The decoder knows LZ4_RAW but takes some of its pages for
// others, without an error (v0.32, where a page does not fit three times its compressed size).
type codecError struct{ column, codec string }

func (e codecError) Error() string {
	return fmt.Sprintf("column %q is compressed with %s, which is not read here; write the file with zstd, snappy, "+
		"gzip, brotli or none", e.column, e.codec)
}

func checkCodec(m *pq.ColumnMetaData) error {
	switch m.Codec {
	case pq.Uncompressed, pq.Snappy, pq.Gzip, pq.Brotli, pq.Zstd:
		return nil
	}
	return codecError{strings.Join(m.PathInSchema, "."), m.Codec.String()}
}

func checkFooter(meta *pq.FileMetaData, size int64) error {
	inside := func(at, n int64) bool { return at >= 0 && n >= 0 && at <= size && n <= size-at }
	rows := int64(0)
	for _, g := range meta.RowGroups {
		if g.NumRows < 0 || g.NumRows > 1<<40 {
			return errDamaged
		}
		rows += g.NumRows
		for _, c := range g.Columns {
			m := &c.MetaData
			if !inside(chunkStart(m), m.TotalCompressedSize) || m.NumValues < 0 ||
				!inside(c.OffsetIndexOffset, int64(c.OffsetIndexLength)) ||
				!inside(c.ColumnIndexOffset, int64(c.ColumnIndexLength)) || !inside(m.DataPageOffset, 0) {
				return errDamaged
			}
			if err := checkCodec(m); err != nil {
				return err
			}
		}
	}
	if meta.NumRows != rows {
		return fmt.Errorf("damaged: %d rows in groups of %d rows together", meta.NumRows, rows)
	}
	return nil
}

// chunkStart is where a column's pages begin.
func chunkStart(m *pq.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}

// checkPages reads the headers of a group's pages.
func checkPages(r io.ReaderAt, g *pq.RowGroup) error {
	for i := range g.Columns {
		m := &g.Columns[i].MetaData
		at, end := chunkStart(m), chunkStart(m)+m.TotalCompressedSize
		for at < end {
			next, err := checkPage(r, at, end, m.Codec)
			if err != nil {
				return fmt.Errorf("page at byte %d: %w", at, err)
			}
			at = next
		}
	}
	return nil
}

// checkPage returns where the page at byte at ends, which must not be after end.
func checkPage(r io.ReaderAt, at, end int64, codec pq.CompressionCodec) (int64, error) {
	s := io.NewSectionReader(r, at, end-at)
	b := bufio.NewReaderSize(s, 512)
	var h pq.PageHeader
	if err := decode(b, func() int64 { return end - at }, &h); err != nil {
		return 0, err
	}
	read, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	at += read - int64(b.Buffered())
	packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if packed < 0 || packed > end-at || plain < 0 || plain > max(maxPage, maxRatio*packed) {
		return 0, errDamaged
	}
	for _, n := range []int32{h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues,
		h.DataPageHeaderV2.V.NumRows, h.DictionaryPageHeader.V.NumValues} {
		if n < 0 || n > maxValues {
			return 0, errDamaged
		}
	}
	if codec == pq.Snappy {
		if err := checkSnappy(r, at, &h); err != nil {
			return 0, err
		}
	}
	return at + packed, nil
}

// checkSnappy reads the length with which packed data begins; the decoder makes room for that. In pages of
// version 2 the levels come before it, unpacked.
func checkSnappy(r io.ReaderAt, at int64, h *pq.PageHeader) error {
	n := int64(h.CompressedPageSize)
	if v2 := h.DataPageHeaderV2; v2.Valid {
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > n {
			return errDamaged
		}
		if c := v2.V.IsCompressed; c.Valid && !c.V || levels == n {
			return nil
		}
		at, n = at+levels, n-levels
	}
	var head [binary.MaxVarintLen32]byte
	k, err := r.ReadAt(head[:min(n, int64(len(head)))], at)
	if err != nil && err != io.EOF {
		return err
	}
	if size, used := binary.Uvarint(head[:k]); used <= 0 && n > 0 || size > uint64(h.UncompressedPageSize) {
		return errDamaged
	}
	return nil
}
