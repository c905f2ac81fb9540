package buffer

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Measured is Entropies for the step that trains the tokens, on the weights of the version before.
func (r Rollouts) Measured(step int, list []*experience.Experience, h [][]float32) {
	r.Entropies(step-1, list, h)
}

// Entropies appends the entropies of trained tokens, nats, to the files beside the records; h is of each token of each
// response, under the weights of a version. Nobody but a reader of records needs them, so a failure does not matter.
func (r Rollouts) Entropies(version int, list []*experience.Experience, h [][]float32) {
	if st, err := os.Stat(r.Dir); err != nil || !st.IsDir() {
		return
	}
	files := map[string][]byte{}
	for i, e := range list {
		step, err := strconv.Atoi(e.EID.Batch)
		if err != nil || e.Info.IsExpert || len(h[i]) == 0 {
			continue // it is not of rollouts/
		}
		name := fmt.Sprintf("step_%06d.jsonl", step)
		files[name] = appendEntropies(files[name], version, e, h[i])
	}
	dir := filepath.Join(r.Dir, rollout.Entropies)
	if len(files) == 0 || os.MkdirAll(dir, 0o755) != nil {
		return
	}
	for name, data := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return
		}
		f.Write(data) // in one write, so that a reader sees whole lines
		f.Close()
	}
}

// appendEntropies appends a line: the sample's id, the weights, the mean over trained tokens, and each token's entropy
// with four digits, 0 for those that were not trained.
func appendEntropies(b []byte, version int, e *experience.Experience, h []float32) []byte {
	sum, n := 0.0, 0
	for i, v := range h {
		if e.ActionMask[i] {
			sum, n = sum+float64(v), n+1
		}
	}
	b = append(b, `{"id":`...)
	b = strconv.AppendQuote(b, e.EID.String())
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, int64(version), 10)
	b = append(b, `,"entropy":`...)
	b = strconv.AppendFloat(b, sum/float64(max(n, 1)), 'g', 6, 64)
	b = append(b, `,"entropies":[`...)
	for i, v := range h {
		if i > 0 {
			b = append(b, ',')
		}
		if !e.ActionMask[i] {
			v = 0
		}
		b = strconv.AppendFloat(b, float64(v), 'g', 4, 32)
	}
	return append(b, "]}\n"...)
}
