package curve

import (
	"encoding/binary"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// readEvents reads the scalars of all TensorBoard event files below a folder: TFRecord framing around tensorflow.Event
// messages (tensorflow/core/util/event.proto). A later value of a step replaces an earlier one.
func readEvents(dir string) (steps []int, cols map[string][]float64) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(d.Name(), "tfevents") {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, map[string][]float64{}
	}
	slices.Sort(paths)
	values := map[int]map[string]float64{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		eachRecord(data, func(event []byte) { readEvent(event, values) })
	}
	steps = slices.Sorted(maps.Keys(values))
	cols = map[string][]float64{}
	for i, step := range steps {
		for name, v := range values[step] {
			col := cols[name]
			for len(col) < i {
				col = append(col, math.NaN())
			}
			cols[name] = append(col, v)
		}
	}
	return steps, cols
}

// eachRecord calls visit with each whole record.
func eachRecord(data []byte, visit func([]byte)) {
	for len(data) >= 16 {
		n := binary.LittleEndian.Uint64(data)
		if n > uint64(len(data)-16) {
			return // it is being written
		}
		visit(data[12 : 12+n])
		data = data[16+n:]
	}
}

// readEvent takes step (2) and summary (5) of an event: values (1) with tag (1) and simple_value (2).
func readEvent(event []byte, into map[int]map[string]float64) {
	step := 0
	var summary []byte
	fields(event, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 2:
			step = int(v)
		case 5:
			summary = b
		}
	})
	fields(summary, func(number protowire.Number, _ uint64, value []byte) {
		tag, scalar, has := "", 0.0, false
		fields(value, func(number protowire.Number, v uint64, b []byte) {
			switch number {
			case 1:
				tag = string(b)
			case 2:
				scalar, has = float64(math.Float32frombits(uint32(v))), true
			}
		})
		if number != 1 || !has || tag == "" {
			return
		}
		if into[step] == nil {
			into[step] = map[string]float64{}
		}
		into[step][tag] = scalar
	})
}

// fields calls visit with the fields of a message; numbers are in v, the rest in b. It ends at what is damaged.
func fields(msg []byte, visit func(number protowire.Number, v uint64, b []byte)) {
	for len(msg) > 0 {
		number, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return
		}
		msg = msg[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(msg)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(msg)
			v = uint64(w)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(msg)
		default:
			return
		}
		if n < 0 {
			return
		}
		msg = msg[n:]
		visit(number, v, b)
	}
}
