package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Digest is a hash of a request's content. Every part is hashed with its length, so different requests never hash the
// same bytes.
type Digest [sha256.Size]byte

type hasher struct {
	h   hash.Hash
	buf [8]byte
}

func NewHasher(kind string) *hasher {
	h := &hasher{h: sha256.New()}
	h.text(kind)
	return h
}

func (h *hasher) sum() (d Digest) {
	h.h.Sum(d[:0])
	return d
}

func (h *hasher) int(v int64) {
	binary.LittleEndian.PutUint64(h.buf[:], uint64(v))
	h.h.Write(h.buf[:])
}

func (h *hasher) float(v float64) { h.int(int64(math.Float64bits(v))) }

func (h *hasher) flag(v bool) {
	if v {
		h.int(1)
	} else {
		h.int(0)
	}
}

func (h *hasher) text(s string) {
	h.int(int64(len(s)))
	h.h.Write([]byte(s))
}

func (h *hasher) tokens(v []int32) {
	raw := make([]byte, 0, 4*len(v))
	for _, t := range v {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(t))
	}
	h.int(int64(len(v)))
	h.h.Write(raw)
}

func (h *hasher) tensor(t tinker.Tensor) {
	h.int(int64(len(t.Shape)))
	for _, n := range t.Shape {
		h.int(int64(n))
	}
	raw := make([]byte, 0, 8*len(t.Int)+4*len(t.Float))
	for _, v := range t.Int {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	for _, v := range t.Float {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	h.int(int64(len(t.Int)))
	h.int(int64(len(t.Float)))
	h.h.Write(raw)
}

func (h *hasher) input(in tinker.ModelInput) {
	h.int(int64(len(in.Chunks)))
	for _, c := range in.Chunks {
		h.tokens(c.Tokens)
		h.flag(c.Image != nil)
		if c.Image != nil {
			h.text(string(c.Image.Data))
			h.text(c.Image.Format)
			h.int(int64(c.Image.ExpectedTokens))
		}
	}
}

func (h *hasher) Forward(req tinker.ForwardRequest) Digest {
	h.text(req.LossFn)
	h.int(int64(len(req.LossFnConfig)))
	for _, key := range slices.Sorted(maps.Keys(req.LossFnConfig)) {
		h.text(key)
		h.float(req.LossFnConfig[key])
	}
	h.int(int64(len(req.Data)))
	for _, d := range req.Data {
		h.input(d.ModelInput)
		h.int(int64(len(d.LossFnInputs)))
		for _, key := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
			h.text(key)
			h.tensor(d.LossFnInputs[key])
		}
	}
	return h.sum()
}

func (h *hasher) Step(req tinker.OptimStepRequest) Digest {
	p := req.Adam
	for _, v := range []float64{p.LearningRate, p.Beta1, p.Beta2, p.Eps, p.WeightDecay, p.GradClipNorm} {
		h.float(v)
	}
	if d := req.Dimuon; d != nil {
		h.text(tinker.Dimuon)
		for _, v := range []float64{d.LearningRate, d.GradClipNorm, d.Beta1, d.Damping, d.RankExponent} {
			h.float(v)
		}
	}
	return h.sum()
}

func (h *hasher) Save(req tinker.SaveRequest) Digest {
	h.text(req.Name)
	h.int(int64(req.TTL))
	h.flag(req.Overwrite)
	return h.sum()
}

func (h *hasher) Load(path string, optimizer bool) Digest {
	h.text(path)
	h.flag(optimizer)
	return h.sum()
}

// Optimizer adds a run's optimizer unless it is AdamW, the only one of older versions.
func (h *hasher) Optimizer(kind string) {
	if kind != "" && kind != tinker.AdamW {
		h.text(kind)
	}
}

func (h *hasher) lora(l tinker.LoRA) {
	h.int(int64(l.Rank))
	h.float(l.Alpha)
	h.flag(l.Seed != nil)
	if l.Seed != nil {
		h.int(*l.Seed)
	}
	h.flag(l.TrainAttn)
	h.flag(l.TrainMLP)
	h.flag(l.TrainUnembed)
	if l.Modules != "" {
		h.text(l.Modules)
	}
}

func (h *hasher) Create(req tinker.CreateModelRequest) Digest {
	h.text(req.BaseModel)
	h.lora(req.LoRA)
	h.flag(req.RandomInit)
	h.int(int64(len(req.UserMetadata)))
	for _, key := range slices.Sorted(maps.Keys(req.UserMetadata)) {
		h.text(key)
		h.text(req.UserMetadata[key])
	}
	h.Optimizer(req.OptimizerType)
	return h.sum()
}
