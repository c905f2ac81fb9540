package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// All integers are little-endian. The header of a file is: magic, version (uint32), generation (uint64), crc32c of
// these (uint32). A record is: length of the body (uint32), number of the write it belongs to (uint32), crc32c of the
// body (uint32), crc32c of the twelve bytes before (uint32), body. The body is the kind (1 byte) and the payload,
// compressed with zstd.
//
// Since the frame has its own checksum, damage to a length is always detected.
const (
	magic      = "TRNWAL\r\n"
	version    = 1
	headerSize = len(magic) + 16
	frameSize  = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func appendHeader(dst []byte, generation uint64) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint64(dst, generation)
	return binary.LittleEndian.AppendUint32(dst, sum(dst[at:]))
}

// errForeign is the error of a file without the magic. Logs from before v0.2 had none, or another.
var errForeign = errors.New("does not begin like a log of this program. If a version before v0.2 wrote it, open it " +
	"with v0.2 once, which converts it. Otherwise it is damaged or another file: restore it from a backup, or move " +
	"it away to start a new one")

// readHeader returns the generation of a file. A file that is shorter than a header is errTorn.
func readHeader(data []byte) (generation uint64, err error) {
	n := headerSize
	if len(data) < n {
		return 0, errTorn
	}
	v := binary.LittleEndian.Uint32(data[len(magic):])
	switch {
	case string(data[:len(magic)]) != magic:
		return 0, errForeign
	case binary.LittleEndian.Uint32(data[n-4:]) != sum(data[:n-4]):
		return 0, errors.New("has a damaged header; restore it from a backup")
	case v != version:
		return 0, fmt.Errorf("has format version %d, and this program reads %d; another version of the program wrote "+
			"it: use that one", v, version)
	}
	return binary.LittleEndian.Uint64(data[len(magic)+4:]), nil
}

func appendFrame(dst []byte, batch uint32, body []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, batch)
	dst = binary.LittleEndian.AppendUint32(dst, sum(body))
	dst = binary.LittleEndian.AppendUint32(dst, sum(dst[at:]))
	return append(dst, body...)
}

// frame is a record in the form of a file.
type frame struct {
	batch uint32
	body  []byte
}

// next splits the first record off data; ok is false if there is no complete, sound one.
func next(data []byte) (f frame, rest []byte, ok bool) {
	n, ok := frameHead(data)
	if !ok || uint64(len(data)-frameSize) < uint64(n) {
		return f, data, false
	}
	f = frame{binary.LittleEndian.Uint32(data[4:]), data[frameSize : frameSize+int(n)]}
	if sum(f.body) != binary.LittleEndian.Uint32(data[8:]) {
		return f, data, false
	}
	return f, data[frameSize+int(n):], true
}

// frameHead returns the length of the body after a sound frame.
func frameHead(data []byte) (n uint32, ok bool) {
	if len(data) < frameSize || binary.LittleEndian.Uint32(data[12:]) != sum(data[:12]) {
		return 0, false
	}
	n = binary.LittleEndian.Uint32(data)
	return n, n > 0
}

// codec compresses payloads within a bound. It is safe for concurrent use.
type codec struct {
	limit int
	enc   *zstd.Encoder
	dec   *zstd.Decoder
}

func newCodec(limit int) (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(uint64(max(limit, 1<<23))))
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	return &codec{limit, enc, dec}, nil
}

func (c *codec) close() {
	c.enc.Close()
	c.dec.Close()
}

// pack makes the body of a record.
func (c *codec) pack(kind byte, payload []byte) ([]byte, error) {
	if len(payload) > c.limit {
		return nil, fmt.Errorf("%w: %d bytes; the limit is %d", ErrTooLarge, len(payload), c.limit)
	}
	return c.enc.EncodeAll(payload, []byte{kind}), nil
}

// unpack is the inverse of pack. The caller may keep the payload.
func (c *codec) unpack(body []byte) (kind byte, payload []byte, err error) {
	if payload, err = c.dec.DecodeAll(body[1:], nil); err != nil {
		return body[0], nil, err
	}
	if len(payload) > c.limit {
		return body[0], nil, fmt.Errorf("%w: %d bytes, and at most %d are read", ErrTooLarge, len(payload), c.limit)
	}
	return body[0], payload, nil
}
