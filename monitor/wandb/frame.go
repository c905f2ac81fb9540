package wandb

import (
	"encoding/binary"
	"hash/crc32"
)

// LevelDB's log framing (github.com/google/leveldb, doc/log_format.md) as wandb has it: blocks of 32 KiB, in them
// chunks of checksum (4 bytes), length (2) and type (1), all little endian. wandb's checksum is the plain IEEE one over
// type and data, and its first block has the file's header in it.
const (
	blockSize = 32 << 10
	chunkHead = 7
	headSize  = 7
)

const (
	fullChunk = 1 + iota
	firstChunk
	middleChunk
	lastChunk
)

// frames cuts a record into chunks; at is where in the file they go.
func frames(at int64, rec []byte) []byte {
	var out []byte
	for begun := false; ; begun = true {
		left := blockSize - int((at+int64(len(out)))%blockSize)
		if left < chunkHead {
			out = append(out, make([]byte, left)...)
			left = blockSize
		}
		n := min(len(rec), left-chunkHead)
		kind := byte(middleChunk)
		switch last := n == len(rec); {
		case last && !begun:
			kind = fullChunk
		case last:
			kind = lastChunk
		case !begun:
			kind = firstChunk
		}
		out = appendChunk(out, kind, rec[:n])
		if rec = rec[n:]; kind == fullChunk || kind == lastChunk {
			return out
		}
	}
}

func appendChunk(out []byte, kind byte, data []byte) []byte {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, data)
	out = binary.LittleEndian.AppendUint32(out, sum)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(data)))
	return append(append(out, kind), data...)
}

// unframe reads the record at a place of a file, and where it ends. ok is false at the file's end, or where what was
// written is torn.
func unframe(file []byte, at int64) (rec []byte, end int64, ok bool) {
	for {
		if left := blockSize - at%blockSize; left < chunkHead {
			at += left
		}
		if at+chunkHead > int64(len(file)) {
			return nil, 0, false
		}
		head := file[at:]
		n, kind := int64(binary.LittleEndian.Uint16(head[4:])), head[6]
		at += chunkHead
		if at+n > int64(len(file)) {
			return nil, 0, false
		}
		data := file[at : at+n]
		if crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, data) != binary.LittleEndian.Uint32(head) {
			return nil, 0, false
		}
		rec, at = append(rec, data...), at+n
		if kind == fullChunk || kind == lastChunk {
			return rec, at, true
		}
	}
}
