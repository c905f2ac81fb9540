package synchronizer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Folder is the job directory as explorers and trainer of different processes see it. The trainer's published weights
// stand in global_step_<n>/remote_sampler_path.txt, as upstream has them; what the processes say of themselves stands
// in sync/, a file each.
type Folder struct {
	FS  disk.FS
	Dir string // the job directory
}

// TrainerStatus is sync/trainer.json.
type TrainerStatus struct {
	State string `json:"state"` // running, interrupted or done
	Step  int    `json:"step"`  // trained
	Idle  bool   `json:"idle"`  // it waits for experiences
	Seen  int    `json:"seen"`  // how many experiences had been put when it found that there were too few
}

// The states of a trainer.
const (
	Running     = "running"
	Interrupted = "interrupted"
	Done        = "done"
)

// ExplorerStatus is sync/explorer-<name>.json.
type ExplorerStatus struct {
	Step    int  `json:"step"`    // at work on
	Version int  `json:"version"` // it samples with
	Asks    bool `json:"asks"`    // it waits for newer weights
}

func (f Folder) write(name string, status any) error {
	dir := filepath.Join(f.Dir, "sync")
	if err := disk.MkdirAll(f.FS, dir); err != nil {
		return fmt.Errorf("synchronizer: %w", err)
	}
	data, err := json.Marshal(status)
	if err != nil {
		return err
	}
	return disk.WriteFile(f.FS, filepath.Join(dir, name), append(data, '\n'))
}

// WriteTrainer says the state of the trainer.
func (f Folder) WriteTrainer(s TrainerStatus) error { return f.write("trainer.json", s) }

// WriteExplorer says the state of an explorer.
func (f Folder) WriteExplorer(name string, s ExplorerStatus) error {
	return f.write("explorer-"+name+".json", s)
}

func read[T any](path string) (status T, ok bool, err error) {
	err = disk.ReadJSON(path, &status)
	if errors.Is(err, fs.ErrNotExist) {
		return status, false, nil
	}
	if err != nil {
		return status, false, fmt.Errorf("synchronizer: %s: %w", path, err)
	}
	return status, true, nil
}

// Trainer is the state of the trainer; ok is false when none was ever there.
func (f Folder) Trainer() (status TrainerStatus, ok bool, err error) {
	return read[TrainerStatus](filepath.Join(f.Dir, "sync", "trainer.json"))
}

// Explorers are the states of the explorers.
func (f Folder) Explorers() ([]ExplorerStatus, error) {
	paths, err := disk.Glob(f.Dir, "sync/explorer-*.json")
	if err != nil {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	var list []ExplorerStatus
	for _, p := range paths {
		s, ok, err := read[ExplorerStatus](p)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, s)
		}
	}
	return list, nil
}

// Oldest is the oldest version that an explorer of another process samples with; 0 when there is none.
func (f Folder) Oldest() (int, error) {
	others, err := f.Explorers()
	if err != nil || len(others) == 0 {
		return 0, err
	}
	oldest := others[0].Version
	for _, e := range others {
		oldest = min(oldest, e.Version)
	}
	return oldest, nil
}

// Versions are the published weights by version.
func (f Folder) Versions() (map[int]string, error) {
	files, err := disk.Glob(f.Dir, "global_step_*/remote_sampler_path.txt")
	if err != nil {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	found := map[int]string{}
	for _, file := range files {
		version, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "global_step_"))
		if err != nil {
			continue // not ours
		}
		path, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was retired just now
		}
		if err != nil {
			return nil, fmt.Errorf("synchronizer: %w", err)
		}
		found[version] = strings.TrimSpace(string(path))
	}
	return found, nil
}

// lookPause is the time between two looks at the folder: files do not call back everywhere.
const lookPause = 100 * time.Millisecond

// Follow tells s, until ctx ends, what the trainer of another process publishes and its state. put says how many
// experiences there are by now: a trainer that waits and has not seen all of them is about to continue. A trainer that
// was done before is one of a shorter plan: whoever follows waits for the next, and until then the newest weights are
// those that it left.
func (f Folder) Follow(ctx context.Context, s *Synchronizer, put func(context.Context) (int, error)) error {
	before, _, err := f.Trainer()
	if err != nil {
		return err
	}
	for {
		// The status is read first: what was published before it was written is then seen.
		status, ok, err := f.Trainer()
		if err != nil {
			return err
		}
		left := status == before && status.State == Done
		if !left {
			before = TrainerStatus{}
		}
		versions, err := f.Versions()
		if err != nil {
			return err
		}
		for _, v := range slices.Sorted(maps.Keys(versions)) { // a newer one says that the older ones there are known
			if path, known := s.path(v); !known || path != versions[v] {
				s.Publish(v, versions[v])
			}
		}
		s.keepOnly(versions)
		idle, said := ok && status.Idle, s.idleSaid()
		if idle {
			n, err := put(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			idle = status.Seen >= n
		}
		if idle, err = f.standstill(s, idle, left); err != nil {
			return err
		}
		s.setIdleAsOf(said, idle) // unless the explorer has put experiences since they were counted
		if ok && status.State == Done && !left {
			s.Stop()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookPause):
		}
	}
}

// standstill reports whether the explorer need not wait for newer weights, as none will come before it puts more. In
// styles where the weights must not depend on the clock, that is so only if no other explorer may be about to put
// what the trainer waits for, and not before there is a trainer.
func (f Folder) standstill(s *Synchronizer, idle, left bool) (bool, error) {
	if s.style.clocked() || !idle {
		return idle || left && s.style.clocked(), nil
	}
	all, err := f.Explorers()
	return len(all) <= 1, err
}
