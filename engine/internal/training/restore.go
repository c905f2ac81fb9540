package training

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// snapshotReader reads numbers and sums up what it reads.
type snapshotReader struct {
	r   *bufio.Reader
	sum hash.Hash32
}

// bytes reads n bytes. It allocates as they arrive, so a damaged length does not exhaust the memory.
func (s *snapshotReader) bytes(n int) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, s.r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	s.sum.Write(b.Bytes())
	return b.Bytes(), nil
}

func (s *snapshotReader) floats(n int) ([]float32, error) {
	out := make([]float32, 0, min(n, 1<<20))
	for len(out) < n {
		raw, err := s.bytes(4 * min(n-len(out), 1<<14))
		if err != nil {
			return nil, err
		}
		for ; len(raw) > 0; raw = raw[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	}
	return out, nil
}

func (s *snapshotReader) many(lengths []int) ([][]float32, error) {
	out := make([][]float32, len(lengths))
	for i, n := range lengths {
		var err error
		if out[i], err = s.floats(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *snapshotReader) header() (info snapshotInfo, err error) {
	magic, err := s.bytes(len(snapshotMagic) + 8)
	if err != nil {
		return info, err
	}
	n := binary.LittleEndian.Uint64(magic[len(snapshotMagic):])
	is := string(magic[:len(snapshotMagic)])
	if is != snapshotMagic && is != snapshotMagic2 || n > snapshotHeader {
		return info, errors.New("not a snapshot of this version")
	}
	raw, err := s.bytes(int(n))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, err
	}
	if is != info.magic() {
		return info, fmt.Errorf("a snapshot that begins with %s has the optimizer %q", is, info.Optimizer)
	}
	return info, checkOptimizer(info.Optimizer, info.LoRA)
}

// Snapshot is a snapshot whose header was read.
type Snapshot struct {
	t    *Trainer
	from *snapshotReader
	info snapshotInfo
}

// OpenSnapshot reads the header of a snapshot.
func (t *Trainer) OpenSnapshot(from io.Reader) (*Snapshot, error) {
	s := &snapshotReader{bufio.NewReaderSize(from, 1<<18), crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	info, err := s.header()
	if err != nil {
		return nil, fmt.Errorf("engine: snapshot: %w", err)
	}
	return &Snapshot{t: t, from: s, info: info}, nil
}

// ModelID is the id of the saved model.
func (s *Snapshot) ModelID() string { return s.info.ModelID }

// Applied is the SeqID of the last request in the snapshot.
func (s *Snapshot) Applied() int64 { return s.info.Applied }

// Restore makes the saved run.
func (s *Snapshot) Restore(promised bool) (*Run, error) {
	info := s.info
	r := s.t.newRun(info.ModelID, info.Owner, info.Created, promised)
	r.LoRA, r.BF16 = info.LoRA, info.BF16
	if err := r.readSnapshot(s.from, info); err != nil {
		r.Release()
		return nil, fmt.Errorf("engine: snapshot of model %s: %w", info.ModelID, err)
	}
	if want := s.t.Numerics + "/" + r.Version.Dtype(); info.Numerics != want {
		s.t.Log.Warn("engine: the snapshot was made with other arithmetic; results may differ in the last bits",
			"model", r.id, "snapshot", info.Numerics, "now", want)
	}
	r.serve(info.Applied)
	return r, nil
}

// readSnapshot fills the run with the values after the header.
func (r *Run) readSnapshot(s *snapshotReader, info snapshotInfo) (err error) {
	if r.Base, err = r.t.Memory.Base(info.BaseModel); err != nil {
		return err
	}
	if err := r.t.Memory.Hold(r.Shape, r.owner, r.id, r.promised); err != nil {
		return err
	}
	m := checkpoint.Manifest{BaseModel: info.BaseModel, Fingerprint: info.Fingerprint, LoRA: info.LoRA}
	if err := fits(r.id, r.Shape, m, "of the snapshot"); err != nil {
		return err
	}
	var params []model.Tensor
	var lengths []int
	for _, p := range info.Params {
		n := 1
		for _, d := range p.Shape {
			if d < 1 || n > 1<<40/d {
				return fmt.Errorf("parameter %s has shape %v", p.Name, p.Shape)
			}
			n *= d
		}
		params, lengths = append(params, model.Tensor{Name: p.Name, Shape: p.Shape}), append(lengths, n)
	}
	all := slices.Concat(slices.Repeat(lengths, 1+momentSets(info.Optimizer)), info.Gradient)
	values, err := s.many(all)
	if err != nil {
		return err
	}
	want := s.sum.Sum32()
	if end, err := s.bytes(4); err != nil || binary.LittleEndian.Uint32(end) != want {
		return errors.Join(errors.New("its checksum is wrong; it was damaged"), err)
	}
	n := len(params)
	for i := range params {
		params[i].Data = values[i]
	}
	root, err := r.root()
	if err != nil {
		return err
	}
	end := n * (1 + momentSets(info.Optimizer))
	if err := r.install(params, restoredOptimizer(info.Optimizer, values[n:end:end], info.Step), root); err != nil {
		return err
	}
	return r.setGradient(values[end:])
}

// setGradient restores the accumulators; none means no gradient.
func (r *Run) setGradient(values [][]float32) error {
	if len(values) == 0 {
		return nil
	}
	accumulators := r.Grads.Accumulators()
	if len(values) != len(accumulators) {
		return fmt.Errorf("%d gradient accumulators, the model has %d", len(values), len(accumulators))
	}
	for i, a := range accumulators {
		if len(a) != len(values[i]) {
			return fmt.Errorf("gradient accumulator %d has %d values, the model's %d", i, len(values[i]), len(a))
		}
		copy(a, values[i])
	}
	r.Gathered = true
	return nil
}
