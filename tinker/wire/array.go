package wire

import (
	"encoding/binary"
	"math"
)

// DType is the type of a tensor's elements on the wire.
type DType int32

// The element types. The SDK sends only Float32 and Int64.
const (
	Float32  DType = 1
	Int64    DType = 2
	Int32    DType = 3
	BFloat16 DType = 4
)

// size is the bytes of an element, 0 for an unknown type.
func (d DType) size() int {
	switch d {
	case Float32, Int32:
		return 4
	case Int64:
		return 8
	case BFloat16:
		return 2
	}
	return 0
}

// Arrays are little-endian bytes, one element after another. Readers take as many whole elements as there are.

func readFloats(b []byte, d DType) []float32 {
	v := make([]float32, len(b)/d.size())
	for i := range v {
		if d == BFloat16 {
			v[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		} else {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return v
}

func readInts(b []byte, d DType) []int64 {
	v := make([]int64, len(b)/d.size())
	for i := range v {
		if d == Int32 {
			v[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	return v
}

func readTokens(b []byte) []int32 {
	v := make([]int32, len(b)/4)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func writeFloats(b []byte, v []float32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func writeInts(b []byte, v []int64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func writeTokens(b []byte, v []int32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}
