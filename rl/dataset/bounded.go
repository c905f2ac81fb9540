package dataset

import (
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// compact is thrift.Reader by a name that its method Reader does not have.
type compact = thrift.Reader

// bounded is a reader of thrift's compact protocol that refuses texts and lists longer than what is left to read.
type bounded struct {
	compact
	left func() int64
}

// decode reads one structure, of which r has at most left() more bytes.
func decode(r io.Reader, left func() int64, v any) error {
	return noEOF(thrift.NewDecoder(bounded{new(thrift.CompactProtocol).NewReader(r), left}).Decode(v))
}

// ReadBytes implements thrift.Reader.
func (b bounded) ReadBytes() ([]byte, error) {
	n, err := b.ReadLength()
	if err != nil {
		return nil, err
	}
	if int64(n) > b.left() {
		return nil, errDamaged
	}
	data := make([]byte, n)
	_, err = io.ReadFull(b.Reader(), data)
	return data, err
}

// ReadString implements thrift.Reader.
func (b bounded) ReadString() (string, error) {
	data, err := b.ReadBytes()
	return string(data), err
}

// ReadList implements thrift.Reader.
func (b bounded) ReadList() (thrift.List, error) {
	l, err := b.compact.ReadList()
	return l, b.check(l.Size, err)
}

// ReadSet implements thrift.Reader.
func (b bounded) ReadSet() (thrift.Set, error) {
	s, err := b.compact.ReadSet()
	return s, b.check(s.Size, err)
}

// ReadMap implements thrift.Reader.
func (b bounded) ReadMap() (thrift.Map, error) {
	m, err := b.compact.ReadMap()
	return m, b.check(m.Size, err)
}

func (b bounded) check(size int32, err error) error {
	if err == nil && (size < 0 || int64(size) > b.left()) {
		return errDamaged
	}
	return err
}
