package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/card"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

// checkPush finds mistakes before anything is written.
func (c *convertCmd) checkPush(s *surroundings) error {
	switch {
	case c.Push == "" && c.Overwrite:
		return usageError{errors.New("trinity: --overwrite needs --push")}
	case c.Push == "":
		return nil
	case !hub.IsName(c.Push) || strings.Contains(c.Push, "@"):
		return usageError{fmt.Errorf("trinity: --push %s is no name of a model on the hub; write OWNER/NAME", c.Push)}
	case s.hubOptions().Token == "":
		return errors.New("trinity: --push needs an account of the hub; set HF_TOKEN to a token that may write " +
			"(https://huggingface.co/settings/tokens)")
	}
	return nil
}

// push uploads what was written, a folder or files, with a model card. dir is where it was made of.
func (c *convertCmd) push(s *surroundings, dir string, written ...string) error {
	if c.Push == "" {
		return nil
	}
	files := map[string]string{}
	for _, path := range written {
		if err := addFiles(files, path); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp("", "trinity-card-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	made, err := c.card(dir)
	if err != nil {
		return err
	}
	if files["README.md"], err = made.Write(tmp); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "uploading %d files of %s\n", len(files), budget.Size(sizeOf(files)))
	ctx, done := s.untilStop()
	defer done()
	page, err := hub.Push(ctx, s.hub(), c.Push, "Upload with trinity", files, c.Overwrite)
	if err != nil {
		return fmt.Errorf("%w (what was written is in %s)", err, written[0])
	}
	fmt.Fprintf(s.out, "pushed %d files with a model card to %s; a new model is private: its settings make it public\n",
		len(files)-1, page)
	return nil
}

// sizeOf is the bytes of the files that can be read.
func sizeOf(files map[string]string) (sum int64) {
	for _, path := range files {
		if st, err := os.Stat(path); err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// addFiles adds a file, or those of a folder, by their names in a repository.
func addFiles(files map[string]string, path string) error {
	return filepath.WalkDir(path, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(path, at)
		if name == "." {
			name = filepath.Base(path)
		}
		files[filepath.ToSlash(name)] = at
		return err
	})
}

// card is the model card of what was made of dir.
func (c *convertCmd) card(dir string) (*card.Card, error) {
	k := &card.Card{Name: filepath.Base(c.Push)}
	if has(dir, engine.AdapterConfigFile) {
		a, err := engine.ReadAdapter(dir)
		if err != nil {
			return nil, err
		}
		k.Base, k.Adapter = a.Base, fmt.Sprintf("LoRA of rank %d, alpha %g: %s", a.Rank, a.Alpha,
			strings.Join(a.Modules, " "))
	}
	notes, err := run.ReadJobNotes(dir)
	if err != nil || notes == nil {
		return k, err
	}
	k.Base = cmp.Or(k.Base, notes.Model)
	k.Local = notes.Path != ""
	job, step := jobOf(dir)
	return k, k.Read(job, step)
}

// jobOf is the job that a folder in it belongs to, and the step whose weights the folder has; 0: not known.
func jobOf(dir string) (job string, step int) {
	for job = dir; !has(job, "run.json") && job != filepath.Dir(job); {
		job = filepath.Dir(job)
	}
	if above := stepAbove(dir); above != "" {
		return job, stepNumber(above)
	}
	return job, stepOf(job, dir)
}

// stepOf is the step of a job that saved the checkpoint in a folder, 0 if none did.
func stepOf(job, dir string) int {
	steps, _ := filepath.Glob(filepath.Join(job, stepPrefix+"*")) // the pattern is well-formed
	for _, step := range steps {
		if saved, err := checkpointOf(step); err == nil && saved == dir {
			return stepNumber(step)
		}
	}
	return 0
}
