package training

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/queue"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A snapshot is: the magic, the length of the header (8 bytes), the header in JSON, the values of all tensors as
// little-endian f32 (parameters, then the moments of the optimizer, then the gradient's accumulators if there is a
// gradient), and the CRC-32C of everything before it.
const (
	snapshotMagic  = "TRNSNAP1" // of a run with AdamW
	snapshotMagic2 = "TRNSNAP2" // of one with another optimizer, which older versions cannot read
	snapshotHeader = 1 << 28    // longest header accepted, bytes
)

// snapshotInfo is the header: the state of a run except its tensors' values.
type snapshotInfo struct {
	ModelID     string         `json:"model_id"`
	Created     queue.Digest   `json:"created"`
	Owner       string         `json:"owner,omitempty"`
	BaseModel   string         `json:"base_model"`
	Fingerprint string         `json:"base_model_fingerprint"`
	Numerics    string         `json:"numerics"`
	BF16        bool           `json:"bf16"`
	LoRA        tinker.LoRA    `json:"lora_config"`
	Applied     int64          `json:"applied"`
	Step        int64          `json:"step"`
	Gradient    []int          `json:"gradient,omitempty"` // lengths of the accumulators
	Params      []snapshotPart `json:"params"`
	Optimizer   string         `json:"optimizer,omitempty"` // "" is AdamW
}

type snapshotPart struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// Snapshot writes the complete state of the run between two of its requests, and returns the SeqID of the last request
// included. Requests that have been accepted but not executed are not included.
func (r *Run) Snapshot(ctx context.Context, w io.Writer) (applied int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	done := make(chan error, 1)
	var taken atomic.Bool // by the writer, or by the end of ctx
	r.q.Between(func(err error) {
		if !taken.CompareAndSwap(false, true) {
			return
		}
		if err == nil {
			applied = r.q.Current() - 1
			err = r.writeSnapshot(w, applied)
		}
		done <- err
	})
	select {
	case err = <-done:
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return 0, context.Cause(ctx)
		}
		err = <-done
	}
	return applied, err
}

func (r *Run) writeSnapshot(w io.Writer, applied int64) error {
	print, err := r.Base.Fingerprint(r.Full())
	if err != nil {
		return err
	}
	info := snapshotInfo{ModelID: r.id, Created: r.created, Owner: r.owner, BaseModel: r.Base.Name, Fingerprint: print,
		Numerics: r.t.Numerics + "/" + r.Version.Dtype(), BF16: r.Version.W.Config.BF16,
		LoRA: r.LoRA, Applied: applied, Step: r.opt.steps(), Optimizer: r.opt.noted()}
	values := [][]float32{}
	for _, t := range r.Params {
		info.Params = append(info.Params, snapshotPart{t.Name, t.Shape})
		values = append(values, t.Data)
	}
	values = append(values, r.opt.moments()...)
	if r.Gathered {
		for _, a := range r.Grads.Accumulators() {
			info.Gradient = append(info.Gradient, len(a))
			values = append(values, a)
		}
	}
	header, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("engine: snapshot of %s: %w", r.id, err)
	}
	if err := writeSummed(w, info.magic(), header, values); err != nil {
		return fmt.Errorf("engine: snapshot of %s: %w", r.id, err)
	}
	return nil
}

func writeSummed(w io.Writer, magic string, header []byte, values [][]float32) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<18)
	b.WriteString(magic)
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
	b.Write(header)
	var buf []byte
	for _, v := range values {
		for part := range slices.Chunk(v, 1<<12) {
			buf = buf[:0]
			for _, x := range part {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x))
			}
			b.Write(buf)
		}
	}
	if err := b.Flush(); err != nil { // it remembers the first error
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

func (i snapshotInfo) magic() string {
	if i.Optimizer != "" {
		return snapshotMagic2
	}
	return snapshotMagic
}
