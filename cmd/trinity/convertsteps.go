package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// numbers are the steps of --step, separated by commas or spaces as in Trinity-RFT; nil: not given.
func (c *convertCmd) numbers() (steps []int, err error) {
	for _, part := range strings.Fields(strings.ReplaceAll(c.Step, ",", " ")) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--step: %q is not the number of a step; write them as in 100,200", part)
		}
		steps = append(steps, n)
	}
	if len(steps) > 1 && (c.Output != "" || c.Push != "") {
		return nil, usageError{errors.New("trinity: --output is one folder or file, and --push one model; name one " +
			"--step with it")}
	}
	return steps, nil
}

// chosen converts steps of a job's folder, or of the folder of one of its steps, and reports what came of each. One
// that fails does not stop the others.
func (c *convertCmd) chosen(s *surroundings, dir string, steps []int) error {
	if step := stepAbove(dir); step != "" {
		dir = filepath.Dir(step)
	}
	var errs error
	var failed []string
	for _, n := range steps {
		folder := filepath.Join(dir, stepPrefix+strconv.Itoa(n))
		_, err := os.Stat(folder)
		if err == nil {
			err = c.step(s, folder)
		}
		if err != nil {
			failed = append(failed, strconv.Itoa(n))
			errs = errors.Join(errs, fmt.Errorf("step %d: %w", n, err))
		}
	}
	fmt.Fprintf(s.out, "converted %d of %d steps", len(steps)-len(failed), len(steps))
	if len(failed) > 0 {
		fmt.Fprintf(s.out, "; failed: %s", strings.Join(failed, ", "))
	}
	fmt.Fprintln(s.out)
	return errs
}
