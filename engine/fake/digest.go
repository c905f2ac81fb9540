package fake

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// digestForward is equal for equal requests, whatever their number.
func digestForward(method string, req tinker.ForwardRequest) string {
	b := fmt.Appendf(nil, "%s %s %v %d", method, req.LossFn, req.LossFnConfig, len(req.Data))
	for _, d := range req.Data {
		for _, c := range d.ModelInput.Chunks {
			b, _ = binary.Append(fmt.Append(b, len(c.Tokens), c.Image != nil), binary.LittleEndian, c.Tokens)
		}
		for _, key := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
			t := d.LossFnInputs[key]
			b, _ = binary.Append(fmt.Append(b, key, t.Shape), binary.LittleEndian, t.Float)
			b, _ = binary.Append(b, binary.LittleEndian, t.Int)
		}
	}
	return string(b)
}

func digestStep(req tinker.OptimStepRequest) string {
	if req.Dimuon != nil {
		return fmt.Sprintf("step %+v", *req.Dimuon)
	}
	return fmt.Sprintf("step %+v", req.Adam)
}

func digestSave(kind string, req tinker.SaveRequest) string {
	return fmt.Sprint("save ", kind, req.Name, req.TTL, req.Overwrite)
}

func digestLoad(req tinker.LoadRequest) string { return fmt.Sprint("load ", req.Path, req.Optimizer) }
