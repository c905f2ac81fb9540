package wire

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// outputType is the loss_fn_output_type of every result: the name of the class of its records, as the hosted service
// has it for these (its documentation of ForwardBackwardOutput; the SDK reads "" as it too). SkyRL's scalar is its own.
const outputType = "ArrayRecord"

// EncodeOutput writes message ForwardBackwardOutput. Datums whose fields have equal types and trailing shapes share a
// record.
func EncodeOutput(o tinker.ForwardOutput) []byte {
	var b []byte
	if len(o.LossFnOutputs) > 0 {
		b = appendString(b, 1, outputType)
	}
	for rest := o.LossFnOutputs; len(rest) > 0; {
		n := 1
		for n < len(rest) && alike(rest[0], rest[n]) {
			n++
		}
		b = appendBytes(b, 2, appendRecord(nil, rest[:n]))
		rest = rest[n:]
	}
	for _, k := range slices.Sorted(maps.Keys(o.Metrics)) {
		b = appendMetric(b, 3, k, o.Metrics[k])
	}
	return b
}

// alike reports whether the fields of two datums fit in one record.
func alike(a, b map[string]tinker.Tensor) bool {
	if len(a) != len(b) {
		return false
	}
	for name, t := range a {
		u, ok := b[name]
		if !ok || (t.Int == nil) != (u.Int == nil) || !slices.Equal(trailing(t), trailing(u)) {
			return false
		}
	}
	return true
}

func trailing(t tinker.Tensor) []int {
	if len(t.Shape) < 2 {
		return nil
	}
	return t.Shape[1:]
}

// appendRecord appends the fields of message ArrayRecord for datums that are alike.
func appendRecord(b []byte, data []map[string]tinker.Tensor) []byte {
	for _, name := range slices.Sorted(maps.Keys(data[0])) {
		e := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		b = appendBytes(b, 2, appendBytes(e, 2, appendBatched(nil, name, data)))
	}
	return appendVarint(b, 3, uint64(len(data)))
}

// appendBatched appends the fields of message BatchedTensor: the arrays of one field back to back.
func appendBatched(b []byte, name string, data []map[string]tinker.Tensor) []byte {
	var raw, offsets []byte
	offsets = binary.LittleEndian.AppendUint64(offsets, 0)
	dtype := Float32
	for _, d := range data {
		t := d[name]
		if t.Int != nil {
			raw, dtype = writeInts(raw, t.Int), Int64
		} else {
			raw = writeFloats(raw, t.Float)
		}
		offsets = binary.LittleEndian.AppendUint64(offsets, uint64(len(raw)))
	}
	if len(raw) > 0 {
		b = appendBytes(b, 1, raw)
	}
	b = appendBytes(b, 2, offsets)
	b = appendVarint(b, 3, uint64(dtype))
	var shape []int64
	for _, n := range trailing(data[0][name]) {
		shape = append(shape, int64(n))
	}
	return appendInt64s(b, 4, shape)
}

// DecodeOutput reads message ForwardBackwardOutput.
func DecodeOutput(b []byte) (tinker.ForwardOutput, error) {
	o := tinker.ForwardOutput{Metrics: map[string]float64{}}
	err := fields("ForwardBackwardOutput", b, func(f field) error {
		switch {
		case f.is(2, protowire.BytesType):
			return readRecord(&o, f.raw)
		case f.is(3, protowire.BytesType):
			key, v, err := entry("metrics", f.raw)
			if o.Metrics[key] = v.double(); len(o.Metrics) > maxDatums {
				return malformed("ForwardBackwardOutput.metrics: too many", nil)
			}
			return err
		}
		return nil
	})
	return o, err
}

// The limits of one answer: its datums, of which batches have a few thousand at most, and all their tensors. Empty ones
// take next to no bytes.
const (
	maxDatums  = 1 << 16
	maxTensors = 1 << 20
)

func readRecord(o *tinker.ForwardOutput, b []byte) error {
	columns, count, tensors := map[string][]tinker.Tensor{}, 0, 0
	err := fields("ArrayRecord", b, func(f field) error {
		switch {
		case f.is(2, protowire.BytesType):
			name, v, err := entry("fields", f.raw)
			if err != nil {
				return err
			}
			columns[name], err = readBatched(v.raw)
			if tensors += len(columns[name]); err == nil && tensors > maxTensors {
				err = malformed("ArrayRecord.fields: too many", nil)
			}
			return err
		case f.is(3, protowire.VarintType):
			if f.num > math.MaxInt32 {
				return malformed("ArrayRecord.num_datums", nil)
			}
			count = int(f.num)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range columns {
		count = cmp.Or(count, len(c))
		if len(c) != count {
			return malformed("ArrayRecord: a field does not cover every datum", nil)
		}
	}
	if len(o.LossFnOutputs)+count > maxDatums || len(columns) > maxDatums {
		return malformed("ArrayRecord.num_datums", nil)
	}
	for i := range count {
		datum := map[string]tinker.Tensor{}
		for name, c := range columns {
			datum[name] = c[i]
		}
		o.LossFnOutputs = append(o.LossFnOutputs, datum)
	}
	return nil
}

func readBatched(b []byte) ([]tinker.Tensor, error) {
	var data []byte
	var offsets, shape []int64
	var dtype DType
	err := fields("BatchedTensor", b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			data = f.raw
		case f.is(2, protowire.BytesType):
			offsets = readInts(f.raw, Int64)
		case f.is(3, protowire.VarintType):
			dtype = DType(f.num)
		case f.id == 4:
			shape, err = int64s("BatchedTensor.trailing_shape", shape, f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(offsets) > maxDatums+1 {
		return nil, malformed("BatchedTensor.offsets: too many", nil)
	}
	if dtype.size() == 0 || len(offsets) == 0 {
		return nil, malformed("BatchedTensor without dtype or offsets", nil)
	}
	tail, err := newShape(shape)
	if err != nil {
		return nil, malformed("BatchedTensor", err)
	}
	width, _ := elements(tail.Shape)
	out := make([]tinker.Tensor, 0, len(offsets)-1)
	for i := range len(offsets) - 1 {
		from, to := offsets[i], offsets[i+1]
		if from < 0 || from > to || to > int64(len(data)) {
			return nil, malformed("BatchedTensor.offsets", nil)
		}
		t, err := fill(tinker.Tensor{}, data[from:to], dtype)
		if err != nil {
			return nil, malformed("BatchedTensor", err)
		}
		lead := 0
		if width > 0 {
			lead = t.Len() / width
		}
		t.Shape = append([]int{lead}, tail.Shape...)
		out = append(out, t)
	}
	return out, nil
}
