package experience

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Decode reads one experience from the front of buf and returns it with the bytes that follow it. What Append
// did not write is an error naming the field, or another experience, and never a panic.
func Decode(buf []byte) (*Experience, []byte, error) {
	d := decoder{buf: buf}
	version := d.byte("version")
	if d.err == nil && (version < 2 || version > formatVersion) {
		return nil, nil, fmt.Errorf("experience: the encoding has version %d, this program reads 2 to %d; use the "+
			"program that wrote it (version 1: v0.2)", version, formatVersion)
	}
	var e Experience
	e.EID.Batch = d.string("batch")
	e.EID.Task = d.string("task")
	e.EID.Run = int(d.varint("run"))
	e.EID.Step = int(d.varint("step"))
	e.EID.Suffix = d.string("suffix")
	e.Tokens = d.tokens("tokens")
	e.PromptLength = d.promptLength(len(e.Tokens))
	e.Logprobs = d.floats("logprobs")
	e.ActionMask = d.mask("action mask")
	e.Reward = d.reward("reward")
	e.TokenRewards = d.floats("token rewards")
	e.Advantages = d.floats("advantages")
	e.Returns = d.floats("returns")
	e.PromptText = d.string("prompt text")
	e.ResponseText = d.string("response text")
	e.MessagesJSON = d.string("messages")
	e.Metrics = d.metrics("metrics")
	e.Info = d.info("info")
	e.TruncateStatus = TruncateStatus(d.string("truncate status"))
	e.StopReason = StopReason(d.string("stop reason"))
	if version > 2 {
		e.Starts = d.starts(len(e.Tokens), version == 3)
	}
	if version > 3 {
		e.Note = d.note()
	}
	if d.err != nil {
		return nil, nil, d.err
	}
	return &e, d.buf, nil
}

// decoder consumes buf from the front. After the first failure every method returns a zero value and err stays.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) fail(field, what string) {
	if d.err == nil {
		d.err = fmt.Errorf("experience: cannot decode %s: %s; the data is damaged", field, what)
		d.buf = nil
	}
}

func (d *decoder) take(field string, n uint64) []byte {
	if d.err != nil {
		return nil
	}
	if n > uint64(len(d.buf)) {
		d.fail(field, fmt.Sprintf("%d bytes wanted, %d left", n, len(d.buf)))
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) byte(field string) byte {
	if b := d.take(field, 1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint(field string) uint64 {
	return number(d, field, "unsigned varint", binary.Uvarint)
}

func (d *decoder) varint(field string) int64 { return number(d, field, "varint", binary.Varint) }

func number[T int64 | uint64](d *decoder, field, kind string, read func([]byte) (T, int)) T {
	if d.err != nil {
		return 0
	}
	v, n := read(d.buf)
	if n <= 0 {
		d.fail(field, "no "+kind)
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) string(field string) string { return string(d.take(field, d.uvarint(field))) }

// count reads what appendCount wrote; present is false for a nil slice. A count that the bytes left cannot hold at
// perByte elements to a byte is refused before anything is allocated for it.
func (d *decoder) count(field string, perByte uint64) (n int, present bool) {
	c := d.uvarint(field)
	if d.err != nil || c == 0 {
		return 0, false
	}
	if c-1 > uint64(len(d.buf))*perByte {
		d.fail(field, fmt.Sprintf("%d elements announced, %d bytes left", c-1, len(d.buf)))
		return 0, false
	}
	return int(c - 1), true
}

func (d *decoder) tokens(field string) []int32 {
	n, present := d.count(field, 1)
	if !present {
		return nil
	}
	out := make([]int32, n)
	for i := range out {
		v := d.varint(field)
		if v < math.MinInt32 || v > math.MaxInt32 {
			d.fail(field, fmt.Sprintf("token id %d does not fit 32 bits", v))
			return nil
		}
		out[i] = int32(v)
	}
	return out
}

func (d *decoder) promptLength(tokens int) int {
	p := d.uvarint("prompt length")
	if p > uint64(tokens) {
		d.fail("prompt length", fmt.Sprintf("%d with %d tokens", p, tokens))
		return 0
	}
	return int(p)
}

// starts reads places among the tokens, at least one where some is set.
func (d *decoder) starts(tokens int, some bool) []int {
	n := d.uvarint("starts")
	if d.err == nil && (n == 0 && some || n > uint64(tokens)) {
		d.fail("starts", fmt.Sprintf("%d sequences begin among %d tokens", n, tokens))
	}
	if d.err != nil || n == 0 {
		return nil
	}
	out := make([]int, n)
	for i := range out {
		at := d.uvarint("starts")
		if at >= uint64(tokens) {
			d.fail("starts", fmt.Sprintf("%d with %d tokens", at, tokens))
			return nil
		}
		out[i] = int(at)
	}
	return out
}

func (d *decoder) floats(field string) []float32 {
	n, present := d.count(field, 1)
	if !present {
		return nil
	}
	b := d.take(field, 4*uint64(n))
	if d.err != nil {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

func (d *decoder) mask(field string) []bool {
	n, present := d.count(field, 8)
	if !present {
		return nil
	}
	b := d.take(field, uint64(n+7)/8)
	if d.err != nil {
		return nil
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = b[i/8]>>(i%8)&1 == 1
	}
	return out
}

func (d *decoder) float64(field string) float64 {
	b := d.take(field, 8)
	if d.err != nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func (d *decoder) reward(field string) *float64 {
	if d.byte(field) == 0 {
		return nil
	}
	r := d.float64(field)
	return &r
}

func (d *decoder) metrics(field string) map[string]float64 {
	n, present := d.count(field, 1)
	if !present {
		return nil
	}
	m := make(map[string]float64, min(n, 64))
	for range n {
		k := d.string(field)
		v := d.float64(field)
		if d.err != nil {
			return nil
		}
		m[k] = v
	}
	return m
}

func (d *decoder) info(field string) Info {
	in := Info{
		ModelVersion: int(d.varint(field)),
		TaskIndex:    int(d.varint(field)),
		TasksetID:    int(d.varint(field)),
		UseCount:     int(d.varint(field)),
		Seed:         d.varint(field),
	}
	in.IsExpert = d.byte(field) == 1
	in.Baseline = d.reward(field)
	return in
}
