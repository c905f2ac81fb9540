package mlflow

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// folder is a store of files (mlflow/store/tracking/file_store.py, MLflow 1 to 3): a folder for each
// experiment with meta.yaml, in it one for each run with meta.yaml and the folders params, tags, metrics and
// artifacts. A parameter or tag is a file with its value, a metric a file with a line "milliseconds value step" for
// each value; slashes in a metric's name are folders.
type folder struct{ root string }

func openFolder(path string) (store, error) {
	root, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return nil, fmt.Errorf("monitor: monitor_args.uri: %w", err)
	}
	return folder{root}, nil
}

func (folder) close() error { return nil }

// experimentMeta is the part of an experiment's meta.yaml that is read.
type experimentMeta struct {
	ID    string `yaml:"experiment_id"`
	Name  string `yaml:"name"`
	Stage string `yaml:"lifecycle_stage"`
}

// experiment finds an experiment by its name, or makes it.
func (s folder) experiment(name string, now int64) (id string, err error) {
	found, err := disk.Glob(s.root, "*/meta.yaml")
	if err != nil {
		return "", err
	}
	for _, path := range found {
		var e experimentMeta
		raw, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(raw, &e)
		}
		if err == nil && e.Name == name && e.ID != "" {
			return e.ID, nil
		}
	}
	if id = "0"; name != "Default" {
		if err := s.makeExperiment("0", "Default", now); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		h := fnv.New64a()
		h.Write([]byte(name))
		id = strconv.FormatUint(1e17+h.Sum64()%(9e17), 10) // of two processes that make it one does
	}
	if err := s.makeExperiment(id, name, now); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return id, nil
}

func (s folder) makeExperiment(id, name string, now int64) error {
	dir := filepath.Join(s.root, id)
	if err := os.MkdirAll(filepath.Join(s.root, ".trash"), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "meta.yaml"), []byte(fmt.Sprintf(
		"artifact_location: %s\ncreation_time: %d\nexperiment_id: '%s'\nlast_update_time: %d\n"+
			"lifecycle_stage: active\nname: %s\n",
		monitor.JSON(fileURL(dir)), now, id, now, monitor.JSON(name))), 0o644)
}

func (s folder) create(r run) (id string, err error) {
	experiment, err := s.experiment(r.experiment, r.start)
	if err != nil {
		return "", err
	}
	id = newID()
	dir := filepath.Join(s.root, experiment, id)
	for _, name := range []string{"artifacts", "metrics", "params", "tags"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return "", err
		}
	}
	for name, pairs := range map[string][]pair{"params": r.params, "tags": r.named()} {
		for _, p := range pairs {
			if err := writeBelow(filepath.Join(dir, name), p.Key, p.Value); err != nil {
				return "", err
			}
		}
	}
	return id, os.WriteFile(filepath.Join(dir, "meta.yaml"), []byte(fmt.Sprintf(
		"artifact_uri: %s\nend_time: null\nentry_point_name: ''\nexperiment_id: '%s'\nlifecycle_stage: active\n"+
			"run_id: %s\nrun_name: %s\nrun_uuid: %s\n"+
			"source_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: %d\nstatus: %d\ntags: []\nuser_id: %s\n",
		monitor.JSON(fileURL(filepath.Join(dir, "artifacts"))), experiment, id, monitor.JSON(r.name), id,
		r.start, statuses["RUNNING"], monitor.JSON(r.user))), 0o644)
}

// statuses are the numbers of MLflow's RunStatus.
var statuses = map[string]int{"RUNNING": 1, "FINISHED": 3}

// find is the folder of a run.
func (s folder) find(id string) (string, error) {
	found, err := disk.Glob(s.root, "*/"+id)
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s has no run %s", s.root, id))
	}
	return found[0], nil
}

func (s folder) log(id string, list []metric) error {
	dir, err := s.find(id)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range list {
		line := fmt.Sprintf("%d %s %d\n", m.Timestamp, strconv.FormatFloat(m.Value, 'g', -1, 64), m.Step)
		errs = append(errs, appendBelow(filepath.Join(dir, "metrics"), m.Key, line))
	}
	return errors.Join(errs...)
}

func (s folder) forget(id string, step int) error {
	dir, err := s.find(id)
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(dir, "metrics"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var kept strings.Builder
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if len(f) != 3 || !strings.HasSuffix(line, "\n") {
				continue // cut short by a kill
			}
			if at, err := strconv.Atoi(f[2]); err == nil && at <= step {
				kept.WriteString(line)
			}
		}
		if kept.Len() == len(raw) {
			return nil
		}
		return os.WriteFile(path, []byte(kept.String()), 0o644)
	})
}

func (s folder) update(id, status string, end *int64) error {
	dir, err := s.find(id)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "meta.yaml")
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	ended := "null"
	if end != nil {
		ended = strconv.FormatInt(*end, 10)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "status:"):
			lines[i] = fmt.Sprintf("status: %d\n", statuses[status])
		case strings.HasPrefix(line, "end_time:"):
			lines[i] = "end_time: " + ended + "\n"
		}
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}

// below is the file of a name in a folder; its slashes are folders.
func below(dir, name string) (string, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsLocal(path) || filepath.Clean(path) != path {
		return "", fmt.Errorf("the name %q cannot be a file", name)
	}
	path = filepath.Join(dir, path)
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

func writeBelow(dir, name, text string) error {
	path, err := below(dir, name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func appendBelow(dir, name, text string) error {
	path, err := below(dir, name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of Windows
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
