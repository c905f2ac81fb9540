package engine

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The dtypes of a base model's matrices while a LoRA is trained on them and sampled from. All of an engine's base
// models have one.
const (
	BaseBF16 = "bf16"     // as the files have them: bf16 or float32
	BaseInt8 = model.Int8 // a scale per output channel, with inputs in int16; see kernel.Quads and kernel.Ints
	BaseInt4 = model.Int4 // int8 in 4.125 bits but for the embedding and the head
	BaseAuto = "auto"     // int8 if a model in bf16 exceeds half of the memory
)

// CheckBaseDtype refuses anything but the empty string, bf16, int8 and int4.
func CheckBaseDtype(dtype string) error {
	switch dtype {
	case "", BaseBF16, BaseInt8, BaseInt4:
		return nil
	}
	return tinker.Userf("engine: base_dtype %q is unknown; use %s, %s, %s or %s", dtype, BaseBF16, BaseInt8, BaseInt4,
		BaseAuto)
}

// ChooseBaseDtype resolves auto for the models in those folders: a folder dir of checkpoints keeps what it was begun
// with. Other dtypes stay. memory is that of the machine in bytes; 0 is not known.
func ChooseBaseDtype(dtype, dir string, memory int64, folders ...string) (string, error) {
	if dtype != BaseAuto {
		return dtype, CheckBaseDtype(dtype)
	}
	begun, err := keptArithmetic(dir)
	if err == nil {
		return begun.baseDtype(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, folder := range folders {
		c, err := model.LoadConfig(folder)
		if err != nil {
			continue // Open says so, or leaves it out
		}
		c.BF16 = true
		inInt8 := c
		inInt8.Frozen = BaseInt8 // which MXFP4 is smaller than
		if memory > 0 && c.WeightBytes() > memory/2 && c.WeightBytes() > inInt8.WeightBytes() {
			return BaseInt8, nil
		}
	}
	return BaseBF16, nil
}

// InBase is the model with its matrices in a base dtype.
func (d Description) InBase(dtype string) Description {
	if d.config.Frozen = frozen(dtype); d.config.Frozen != "" {
		d.config.BF16 = true
	}
	return d
}

// frozen is the dtype in which a base dtype freezes the matrices, or "".
func frozen(dtype string) string {
	if dtype == BaseBF16 {
		return ""
	}
	return dtype
}

func (a arithmetic) baseDtype() string {
	return cmp.Or(a.frozen, BaseBF16)
}
