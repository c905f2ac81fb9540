package speaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// subject names weights.
type subject struct {
	base       string // the base model's name in the engine
	checkpoint string // a folder with trinity.json; "" for the base model itself
	adapter    string // a folder of Python's peft; likewise
}

// checkpointNote is the part of a checkpoint's trinity.json that is read here.
type checkpointNote struct {
	BaseModel string `json:"base_model"`
	SeqID     int64  `json:"seq_id"`
	Step      int64  `json:"step"`
}

func (o Options) subject() (subject, error) {
	path := o.Find(o.Model)
	if st, err := os.Stat(path); err != nil || !st.IsDir() { // a name, or a GGUF file
		return subject{base: o.Model}, nil
	}
	note, err := readNote(path)
	if err == nil {
		return subject{base: note.BaseModel, checkpoint: path}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return subject{}, err
	}
	if _, err := os.Stat(filepath.Join(path, "tinker", "checkpoints")); err == nil {
		return newest(path)
	}
	data, err := disk.ReadFile(filepath.Join(path, "adapter_config.json"), disk.SmallFile)
	if err != nil {
		return subject{base: o.Model}, nil
	}
	var conf struct {
		Base string `json:"base_model_name_or_path"`
	}
	if err := json.Unmarshal(data, &conf); err != nil {
		return subject{}, fmt.Errorf("%s: %w", filepath.Join(path, "adapter_config.json"), err)
	}
	return subject{base: conf.Base, adapter: path}, nil
}

func readNote(dir string) (note checkpointNote, err error) {
	path := filepath.Join(dir, "trinity.json")
	data, err := disk.ReadFile(path, disk.SmallFile)
	if err != nil {
		return note, err
	}
	if err := json.Unmarshal(data, &note); err != nil {
		return note, fmt.Errorf("%s: %w", path, err)
	}
	return note, nil
}

// newest is the checkpoint with the most train steps in a job directory.
func newest(job string) (subject, error) {
	notes, err := disk.Glob(job, "tinker/checkpoints/*/*/*/trinity.json")
	if err != nil {
		return subject{}, err
	}
	var best checkpointNote
	var dir string
	for _, path := range notes {
		note, err := readNote(filepath.Dir(path))
		if err != nil {
			continue // the job may be deleting it
		}
		if dir == "" || note.Step > best.Step || note.Step == best.Step && note.SeqID > best.SeqID {
			best, dir = note, filepath.Dir(path)
		}
	}
	if dir == "" {
		return subject{}, fmt.Errorf("job %s has no checkpoint yet", job)
	}
	return subject{base: best.BaseModel, checkpoint: dir}, nil
}

// JobsIn are the folders of jobs at most three levels below dir, where runs put them: <project>/<group>/<name>.
func JobsIn(dir string) (jobs []string) {
	for _, pattern := range []string{"run.json", "*/run.json", "*/*/run.json", "*/*/*/run.json"} {
		files, err := disk.Glob(dir, pattern)
		if err != nil {
			continue
		}
		for _, f := range files {
			jobs = append(jobs, filepath.Dir(f))
		}
	}
	return jobs
}

// JobList names jobs, the first five of them.
func JobList(jobs []string) string {
	const most = 5
	if len(jobs) <= most {
		return strings.Join(jobs, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(jobs[:most], ", "), len(jobs)-most)
}

// notModel says what a folder without a tokenizer may be.
func notModel(dir string) error {
	if disk.Exists(filepath.Join(dir, "run.json")) {
		return fmt.Errorf("the job %s has no checkpoint here", dir)
	}
	if jobs := JobsIn(dir); len(jobs) > 0 {
		return fmt.Errorf("%s is a folder of jobs; name one of them: %s", dir, JobList(jobs))
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	return fmt.Errorf("%s is no model's folder (it has no tokenizer.json), and no job, checkpoint or adapter", dir)
}
