package experience

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// formatVersion is the first byte of every encoding. It grows when a field is added, and Decode refuses what it
// does not know. Nothing since v0.2 writes version 1. Version 3 is version 2 followed by the places where further
// sequences begin, and is written only if there are some. Version 4 is version 3, possibly without such places,
// followed by a note, and is written only if there is one.
const formatVersion = 4

// Append appends the binary form of e to buf and returns the longer slice. Equal experiences give equal bytes: floats
// are written bit for bit and metrics in order of their names.
//
// The form is: version byte; then the fields in the order below, integers as varints, strings and slices with a
// length in front (for slices the length plus one, so that nil stays nil), float32 and float64 as little-endian bits,
// masks as packed bits.
func Append(buf []byte, e *Experience) []byte {
	version := byte(2)
	switch {
	case e.Note != nil:
		version = formatVersion
	case len(e.Starts) > 0:
		version = 3
	}
	buf = append(buf, version)
	buf = appendString(buf, e.EID.Batch)
	buf = appendString(buf, e.EID.Task)
	buf = binary.AppendVarint(buf, int64(e.EID.Run))
	buf = binary.AppendVarint(buf, int64(e.EID.Step))
	buf = appendString(buf, e.EID.Suffix)
	buf = appendTokens(buf, e.Tokens)
	buf = binary.AppendUvarint(buf, uint64(e.PromptLength))
	buf = appendFloats(buf, e.Logprobs)
	buf = appendMask(buf, e.ActionMask)
	buf = appendReward(buf, e.Reward)
	buf = appendFloats(buf, e.TokenRewards)
	buf = appendFloats(buf, e.Advantages)
	buf = appendFloats(buf, e.Returns)
	buf = appendString(buf, e.PromptText)
	buf = appendString(buf, e.ResponseText)
	buf = appendString(buf, e.MessagesJSON)
	buf = appendMetrics(buf, e.Metrics)
	buf = appendInfo(buf, e.Info)
	buf = appendString(buf, string(e.TruncateStatus))
	buf = appendString(buf, string(e.StopReason))
	if version == 2 {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(len(e.Starts)))
	for _, at := range e.Starts {
		buf = binary.AppendUvarint(buf, uint64(at))
	}
	if version == 3 {
		return buf
	}
	return appendNote(buf, e.Note)
}

func appendString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// appendCount writes the length of a slice so that a nil slice and an empty one stay different.
func appendCount(buf []byte, n int, isNil bool) []byte {
	if isNil {
		return binary.AppendUvarint(buf, 0)
	}
	return binary.AppendUvarint(buf, uint64(n)+1)
}

func appendTokens(buf []byte, tokens []int32) []byte {
	buf = appendCount(buf, len(tokens), tokens == nil)
	for _, t := range tokens {
		buf = binary.AppendVarint(buf, int64(t))
	}
	return buf
}

func appendFloats(buf []byte, x []float32) []byte {
	buf = appendCount(buf, len(x), x == nil)
	for _, v := range x {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
	}
	return buf
}

// appendMask packs eight entries into a byte, the first in the lowest bit.
func appendMask(buf []byte, mask []bool) []byte {
	buf = appendCount(buf, len(mask), mask == nil)
	for at := 0; at < len(mask); at += 8 {
		var b byte
		for i, keep := range mask[at:min(at+8, len(mask))] {
			if keep {
				b |= 1 << i
			}
		}
		buf = append(buf, b)
	}
	return buf
}

func appendReward(buf []byte, r *float64) []byte {
	if r == nil {
		return append(buf, 0)
	}
	return binary.LittleEndian.AppendUint64(append(buf, 1), math.Float64bits(*r))
}

func appendMetrics(buf []byte, m map[string]float64) []byte {
	buf = appendCount(buf, len(m), m == nil)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		buf = appendString(buf, k)
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(m[k]))
	}
	return buf
}

func appendInfo(buf []byte, in Info) []byte {
	for _, v := range []int64{int64(in.ModelVersion), int64(in.TaskIndex), int64(in.TasksetID), int64(in.UseCount),
		in.Seed} {
		buf = binary.AppendVarint(buf, v)
	}
	expert := byte(0)
	if in.IsExpert {
		expert = 1
	}
	return appendReward(append(buf, expert), in.Baseline)
}
