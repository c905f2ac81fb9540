package tool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Python is GEM's Python code tool: it runs the first block of code of an answer in a sandbox and returns what it
// prints. Nothing is kept between calls.
type Python struct {
	box      *sandbox.Box
	program  *interpreter
	limits   sandbox.Limits
	lastLine bool          // of stderr only the last line is told
	places   chan struct{} // as many as programs may run at once
}

// pythonTimeout is how long a program may run. GEM's tool is made with 5 seconds, but ends programs after 10.
const pythonTimeout = 10 * time.Second

// smallCode is the length below which code is an argument; longer code is a file. Error messages name either.
const smallCode = 3072

// newPython makes a tool of an interpreter and a sandbox. at says how many programs may run at once.
func newPython(box *sandbox.Box, program *interpreter, timeout time.Duration, at int) *Python {
	l := sandbox.DefaultLimits()
	l.Wall, l.CPU = timeout, 2*timeout
	return &Python{box: box, program: program, limits: l, places: make(chan struct{}, at)}
}

// Instruction implements env.Tool.
func (p *Python) Instruction() string {
	return "Work out the answer to the problem above in steps. Where it helps you may write Python code: a complete " +
		"script with its imports, between <python> and </python> or in a ```python block. It is run for you, and " +
		"what it prints is shown to you after \"Code execution result: \". Give your final answer in \\boxed{}."
}

// Use implements env.Tool.
func (p *Python) Use(ctx context.Context, action string) (env.ToolUse, error) {
	code, until, ok := findCode(action)
	if !ok {
		return env.ToolUse{}, nil
	}
	good, stdout, stderr, err := p.try(ctx, code)
	if err != nil {
		return env.ToolUse{}, fmt.Errorf("tool: python: %w", err)
	}
	if p.lastLine {
		stderr = stderr[strings.LastIndexByte(stderr, '\n')+1:]
	}
	text := stdout
	if stderr != "" {
		text += "\n" + stderr
	}
	return env.ToolUse{Called: true, Failed: !good, Action: action[:until],
		Text: "Code execution result: " + strings.TrimLeft(text, " \n") + "\n"}, nil
}

// try runs code, and once more with the usual imports if a name was missing.
func (p *Python) try(ctx context.Context, code string) (good bool, stdout, stderr string, err error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return false, "", "", context.Cause(ctx)
	}
	defer func() { <-p.places }()
	if good, stdout, stderr, err = p.run(ctx, code); !good && strings.Contains(stderr, "is not defined") {
		return p.run(ctx, usualImports+code)
	}
	return good, stdout, stderr, err
}

// run runs code once.
func (p *Python) run(ctx context.Context, code string) (good bool, stdout, stderr string, err error) {
	switch {
	case code == "...":
		return false, "", "SyntaxError: invalid syntax", nil // a placeholder, which is valid Python
	case strings.ContainsRune(code, 0):
		return false, "", "SyntaxError: source code cannot contain null bytes", nil
	}
	j := sandbox.Job{Args: []string{p.program.Executable, "-c", code}, Env: pythonEnv, ReadOnly: p.program.folders,
		Limits: p.limits}
	if len(code) >= smallCode {
		j.Args, j.Files = []string{p.program.Executable, "code.py"}, map[string][]byte{"code.py": []byte(code)}
	}
	r, err := p.box.Run(ctx, j)
	if err != nil {
		return false, "", "", err
	}
	stdout, stderr = strings.ToValidUTF8(string(r.Stdout), "\uFFFD"), strings.TrimSpace(strings.ToValidUTF8(
		string(r.Stderr), "\uFFFD"))
	if r.StdoutCut > 0 {
		stdout += fmt.Sprintf("\n[the output was cut: %d bytes are left out]", r.StdoutCut)
	}
	switch {
	case r.Stopped == sandbox.StopWall || r.Stopped == sandbox.StopCPU:
		return false, "", fmt.Sprintf("\nExecution timed out after %v seconds.", p.limits.Wall.Seconds()), nil
	case r.Stopped != sandbox.Ended:
		return false, stdout, "MemoryError: the program was " + r.Why(p.limits) + ".", nil
	case r.Signal != 0 && stderr == "":
		stderr = "The program " + r.Why(p.limits) + "."
	}
	return r.OK(), stdout, stderr, nil
}

// pythonEnv is the environment of programs. The seed of hashes is fixed so that a program prints the same each time.
var pythonEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8",
	"PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1"}

// usualImports precede code in which a name was missing. GEM imports the same names; numpy and pandas, which may not be
// there, do not fail here.
const usualImports = `import bisect, collections, copy, datetime, functools, heapq, io, itertools, math, operator, os
import random, re, string, sys
from bisect import *
from collections import Counter, OrderedDict, defaultdict, deque
from copy import deepcopy
from functools import cache, cmp_to_key, lru_cache, partial, reduce
from heapq import *
from itertools import *
from math import atan2, ceil, comb, factorial, floor, gcd, inf, isqrt, log, log2, log10, pi, prod, sqrt
from operator import iand, itemgetter, or_, sub, xor
from random import randrange, shuffle
from string import ascii_lowercase, ascii_uppercase
from time import time
from typing import *
try:
    import numpy as np
except ImportError:
    pass
try:
    import pandas as pd
except ImportError:
    pass
`
