package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/seed-d9ad8ee0/trinity/engine/measure"
)

// serve runs trinity as a program of the protocol: it answers requests until there are no more. path names the kernels,
// "" the best ones.
func serve(in io.Reader, out io.Writer, path string) error {
	b, err := measure.New(path)
	if err != nil {
		return err
	}
	defer b.Close()
	to := json.NewEncoder(out)
	if err := to.Encode(answer{Version: fmt.Sprintf("trinity, kernels %s, %s", b.Kernels(),
		runtime.Version())}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r workRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("peers: request %q: %w", lines.Text(), err)
		}
		a := answer{}
		result, err := do(b, r)
		if err != nil {
			a.Error = err.Error()
		} else {
			a.Seconds, a.Check = result.Seconds, result.Check
		}
		if err := to.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// do runs a piece of work.
func do(b *measure.Bench, r workRequest) (measure.Result, error) {
	if err := b.Load(r.Model, r.Threads); err != nil {
		return measure.Result{}, err
	}
	switch r.Work {
	case train:
		return b.Train(r.IDs, r.Rank, r.Recompute)
	case prefill:
		return b.Prefill(r.IDs[0])
	case decode:
		return b.Decode(r.IDs[0], r.Sequences, r.Steps)
	}
	return measure.Result{}, fmt.Errorf("peers: work %q is unknown; use train, prefill or decode", r.Work)
}
