package journal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash/crc32"

	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// recordKind is the kind of a record of the log; payloads are JSON.
type recordKind byte

const (
	recHeader          recordKind = 'H' // first in every segment: header
	recCreate          recordKind = 'C' // created, with a tinker.CreateModelRequest
	recCreateFromState recordKind = 'S' // created, with a tinker.CreateFromStateRequest
	recOp              recordKind = 'O' // operation
	recResult          recordKind = 'R' // result
	recDelete          recordKind = 'D' // deleted; a replay ignores it
	recUnload          recordKind = 'U' // unloaded
)

const (
	version     = 1
	segmentName = "log-%08d.seg"
)

type header struct {
	Version  int    `json:"version"`
	Numerics string `json:"numerics"`
	Before   int64  `json:"before,omitempty"` // bytes of the segment before; 0 is unknown
}

type created struct {
	ModelID string          `json:"model_id"`
	Session string          `json:"session_id"`
	Seq     int64           `json:"model_seq_id"`
	Asked   [32]byte        `json:"asked"` // hash of the request before random choices were filled in
	Kind    recordKind      `json:"kind"`
	Request json.RawMessage `json:"request"`
}

// optimizer is the optimizer that the model was asked for, "" for AdamW. A request that leaves it to a saved state does
// not tell, and is "" too.
func (c created) optimizer() string {
	var req struct {
		OptimizerType string `json:"optimizer_type"`
	}
	if err := json.Unmarshal(c.Request, &req); err != nil || req.OptimizerType == tinker.AdamW {
		return ""
	}
	return req.OptimizerType
}

type operation struct {
	ModelID string          `json:"model_id"`
	SeqID   int64           `json:"seq_id"`
	Name    string          `json:"op"`
	Request json.RawMessage `json:"request"`
}

type loggedResult struct {
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

// tooLarge is the error of a record that the log could not read back.
func tooLarge(err error) error {
	if errors.Is(err, wal.ErrTooLarge) {
		return tinker.Userf("journal: the request is too large to be kept: %w; send it in smaller pieces", err)
	}
	return err
}

// hashOf identifies a request by its content: two requests are equal if their JSON is.
func hashOf(req any) [32]byte {
	b, err := json.Marshal(req)
	if err != nil { // only a metric or config that is NaN; such a request equals none
		return sha256.Sum256(random(32))
	}
	return sha256.Sum256(b)
}
