package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/seed-d9ad8ee0/trinity/engine/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/nn"
)

// serve is trinity as a program of the protocol: it answers requests until there are no more.
func serve(in io.Reader, out io.Writer) error {
	k, warning := kernel.Best(kernel.Native())
	if warning != nil {
		return warning
	}
	to := json.NewEncoder(out)
	if err := to.Encode(answer{Version: fmt.Sprintf("trinity, kernels %s, %s", k.Path(), runtime.Version())}); err != nil {
		return err
	}
	e := &ours{}
	defer e.close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("peers: request %q: %w", lines.Text(), err)
		}
		a, err := e.do(k, r)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := to.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// pool makes e compute on so many threads.
func (e *ours) pool(k *kernel.Set, threads int) {
	if e.compute.P != nil && e.compute.P.N() == threads {
		return
	}
	e.close()
	*e = ours{compute: nn.Compute{K: k, P: kernel.NewPool(threads)}}
}

func (e *ours) close() {
	if e.compute.P != nil {
		e.compute.P.Close()
	}
}
