package state

import (
	"encoding/binary"
	"math"
	"time"
)

// Recording is one sampled sequence.
type Recording struct {
	Sequence string    `json:"sequence"` // as in the sample's promise
	Session  string    `json:"session"`
	Tenant   string    `json:"tenant"`
	Prompt   int       `json:"prompt"` // positions of the prompt it was drawn after
	Tokens   []byte    `json:"tokens"` // int32, little endian
	Logprobs []byte    `json:"logprobs"`
	Time     time.Time `json:"time"`

	Used time.Time `json:"-"` // volatile: when it was recorded, or trained on
}

// recordings are the recordings of all sessions, with the bytes that each tenant's take.
type recordings struct {
	Of    map[string]*Recording // by sequence
	Bytes map[string]int64      // by tenant
}

func (t *Store) AddRecording(r *Recording) {
	t.DropRecording(r.Sequence)
	t.Recorded.Of[r.Sequence] = r
	t.Recorded.Bytes[r.Tenant] += r.size()
}

func (t *Store) DropRecording(id string) {
	r := t.Recorded.Of[id]
	if r == nil {
		return
	}
	delete(t.Recorded.Of, id)
	if t.Recorded.Bytes[r.Tenant] -= r.size(); t.Recorded.Bytes[r.Tenant] <= 0 {
		delete(t.Recorded.Bytes, r.Tenant)
	}
}

// recordingBytes is the memory of a recording besides its tokens.
const recordingBytes = 256

func (r *Recording) size() int64 {
	return recordingBytes + int64(len(r.Sequence)+len(r.Tokens)+len(r.Logprobs))
}

func (r *Recording) Len() int64 { return int64(len(r.Tokens) / 4) }

func (r *Recording) Token(i int64) int32 { return int32(binary.LittleEndian.Uint32(r.Tokens[4*i:])) }

func (r *Recording) Logprob(i int64) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(r.Logprobs[4*i:]))
}
