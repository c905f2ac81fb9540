package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// A record is: length of kind and payload (uint32), crc32c of them (uint32), kind (1 byte), payload (JSON, zstd). Little endian.
type recordKind byte

const (
	recHeader          recordKind = 'H' // first in every segment: header
	recCreate          recordKind = 'C' // created, with a tinker.CreateModelRequest
	recCreateFromState recordKind = 'S' // created, with a tinker.CreateFromStateRequest
	recOp              recordKind = 'O' // operation
	recResult          recordKind = 'R' // result
	recDelete          recordKind = 'D' // deleted
	recUnload          recordKind = 'U' // unloaded
)

const (
	version     = 1
	recordHead  = 8
	maxRecord   = 1 << 30
	segmentName = "log-%08d.seg"
)

type header struct {
	Version  int    `json:"version"`
	Numerics string `json:"numerics"`
}

type created struct {
	ModelID string          `json:"model_id"`
	Session string          `json:"session_id"`
	Seq     int64           `json:"model_seq_id"`
	Asked   [32]byte        `json:"asked"` // hash of the request before chance completed it
	Kind    recordKind      `json:"kind"`
	Request json.RawMessage `json:"request"`
}

type operation struct {
	ModelID string          `json:"model_id"`
	SeqID   int64           `json:"seq_id"`
	Name    string          `json:"op"`
	Request json.RawMessage `json:"request"`
}

type result struct {
	ModelID  string          `json:"model_id"`
	SeqID    int64           `json:"seq_id"`
	Name     string          `json:"op"`
	Hash     [32]byte        `json:"hash"`
	Value    json.RawMessage `json:"value,omitempty"`
	Error    string          `json:"error,omitempty"`
	Category string          `json:"category,omitempty"`
}

type unloaded struct {
	ModelID string `json:"model_id"`
}

type deleted struct {
	Path string `json:"path"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// codec compresses payloads. One per wal: the encoder and the decoder are safe for concurrent EncodeAll and DecodeAll.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecord))
	return &codec{enc: enc, dec: dec}, err
}

func (c *codec) close() {
	c.enc.Close()
	c.dec.Close()
}

// encode appends one framed record to dst.
func (c *codec) encode(dst []byte, kind recordKind, v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("journal: record %c: %w", kind, err)
	}
	at := len(dst)
	dst = append(dst, make([]byte, recordHead)...)
	dst = append(dst, byte(kind))
	dst = c.enc.EncodeAll(plain, dst)
	body := dst[at+recordHead:]
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[at+4:], crc32.Checksum(body, castagnoli))
	return dst, nil
}

// next splits the first record off data. ok is false when data does not hold a whole, sound record.
func next(data []byte) (kind recordKind, payload, rest []byte, ok bool) {
	if len(data) < recordHead+1 {
		return 0, nil, data, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n < 1 || n > maxRecord || uint64(len(data)-recordHead) < n {
		return 0, nil, data, false
	}
	body := data[recordHead : recordHead+n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[4:]) {
		return 0, nil, data, false
	}
	return recordKind(body[0]), body[1:], data[recordHead+n:], true
}

// decode reads a record's payload into v.
func (c *codec) decode(payload []byte, v any) error {
	plain, err := c.dec.DecodeAll(payload, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// hashOf identifies a request's content: two requests are the same when their JSON is.
func hashOf(req any) [32]byte {
	b, err := json.Marshal(req)
	if err != nil { // only a metric or config that is NaN; such a request equals none
		return sha256.Sum256(random(32))
	}
	return sha256.Sum256(b)
}
