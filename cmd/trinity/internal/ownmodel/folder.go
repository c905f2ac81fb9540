package ownmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// requestFile keeps the request that a folder was made for.
const requestFile = "request.json"

// begin checks a request and its folder: a new or empty one, or the one that the same request began.
func (t *Trainer) begin(r Request, out string) (*plan, error) {
	if r.Minutes <= 0 || r.Rank < 1 {
		return nil, fmt.Errorf("train: --minutes %g must be more than 0 and --rank %d at least 1", r.Minutes, r.Rank)
	}
	if _, _, err := rewardName(r.Reward, absolute); err != nil {
		return nil, err
	}
	if r.Template != "" {
		r.Template = absolute(r.Template)
	}
	p := &plan{Request: r, out: absolute(out), model: r.Model}
	if path := t.Run.Find(r.Model); path != r.Model || disk.Exists(path) {
		p.model = absolute(path)
	}
	file := filepath.Join(p.out, requestFile)
	raw, err := os.ReadFile(file)
	if err == nil {
		var before Request
		if err := json.Unmarshal(raw, &before); err != nil {
			return nil, fmt.Errorf("train: %s: %w; choose another folder with --out", file, err)
		}
		if before != r {
			return nil, fmt.Errorf("train: the folder %s belongs to another command: %s; repeat that one, choose "+
				"another folder with --out, or remove this one", out, before.command())
		}
		return p, nil
	}
	if entries, err := os.ReadDir(p.out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("train: the folder %s holds other files (%s); choose another one with --out", out,
			entries[0].Name())
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("train: the folder %s cannot be used: %w; choose another one with --out", out, err)
	}
	return p, nil
}

// claim makes the folder and notes the request in it, with the rows that are trained on and held out.
func (p *plan) claim(d *Data) error {
	if err := disk.MkdirAll(disk.OS(), p.out); err != nil {
		return fmt.Errorf("train: the folder %s cannot be made: %w; choose another one with --out", p.out, err)
	}
	raw, err := json.MarshalIndent(p.Request, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.WriteFile(disk.OS(), filepath.Join(p.out, requestFile), append(raw, '\n')); err != nil {
		return err
	}
	for file, list := range map[string][]Example{trainFile: d.Train, heldFile: d.Held} {
		var b bytes.Buffer
		if err := write(&b, list); err != nil {
			return err
		}
		if err := disk.WriteFile(disk.OS(), filepath.Join(p.out, file), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// release removes what was written for a request that cannot be carried out, so that a mended one finds an empty place.
func (p *plan) release() error {
	errs := []error{os.RemoveAll(filepath.Join(p.out, project))}
	for _, file := range []string{trainFile, heldFile, requestFile} {
		errs = append(errs, os.Remove(filepath.Join(p.out, file)))
	}
	return errors.Join(errs...)
}

// absolute is a path that does not depend on the current folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// shown is a path as the user types it: relative to the current folder where that is shorter.
func (p *plan) shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
