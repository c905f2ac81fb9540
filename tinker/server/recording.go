package server

import (
	"encoding/binary"
	"math"
	"time"
)

// recording is one sampled sequence.
type recording struct {
	Sequence string    `json:"sequence"` // as in the sample's promise
	Session  string    `json:"session"`
	Tenant   string    `json:"tenant"`
	Prompt   int       `json:"prompt"` // positions of the prompt it was drawn after
	Tokens   []byte    `json:"tokens"` // int32, little endian
	Logprobs []byte    `json:"logprobs"`
	Time     time.Time `json:"time"`

	used time.Time // volatile: when it was recorded, or trained on
}

// recordings are the recordings of all sessions, with the bytes that each tenant's take.
type recordings struct {
	of    map[string]*recording // by sequence
	bytes map[string]int64      // by tenant
}

func (t *store) addRecording(r *recording) {
	t.dropRecording(r.Sequence)
	t.recorded.of[r.Sequence] = r
	t.recorded.bytes[r.Tenant] += r.size()
}

func (t *store) dropRecording(id string) {
	r := t.recorded.of[id]
	if r == nil {
		return
	}
	delete(t.recorded.of, id)
	if t.recorded.bytes[r.Tenant] -= r.size(); t.recorded.bytes[r.Tenant] <= 0 {
		delete(t.recorded.bytes, r.Tenant)
	}
}

// recordingBytes is the memory of a recording besides its tokens.
const recordingBytes = 256

func (r *recording) size() int64 {
	return recordingBytes + int64(len(r.Sequence)+len(r.Tokens)+len(r.Logprobs))
}

func (r *recording) len() int64 { return int64(len(r.Tokens) / 4) }

func (r *recording) token(i int64) int32 { return int32(binary.LittleEndian.Uint32(r.Tokens[4*i:])) }

func (r *recording) logprob(i int64) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(r.Logprobs[4*i:]))
}
