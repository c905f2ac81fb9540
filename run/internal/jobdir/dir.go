// Package jobdir is the folder of a job: who may work in it, what the job drew once and keeps, the names of the files
// there, and how a stage takes over what the one before it left.
package jobdir

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Benchmark is the role of mode bench among the monitors, and its mark among the files of a job directory.
const Benchmark = "benchmark"

// Dir is the folder of a job as one process sees it.
type Dir struct {
	FS       disk.FS
	Path     string
	explorer string // the name of this process's
	beside   bool   // this process samples beside a trainer in another one
	bench    bool
}

// Of is the folder of a configuration's job.
func Of(cfg *config.Config, dfs disk.FS, path string) Dir {
	return Dir{FS: dfs, Path: path, explorer: cfg.Explorer.Name, beside: Beside(cfg), bench: cfg.Mode == config.Bench}
}

// Beside reports whether a process of a configuration samples beside a trainer in another one.
func Beside(cfg *config.Config) bool { return cfg.Mode == config.Explore || cfg.Mode == config.Serve }

// Make makes the folder.
func (d Dir) Make() error {
	if err := disk.MkdirAll(d.FS, d.Path); err != nil {
		return fmt.Errorf("run: job directory: %w", err)
	}
	return nil
}

// File is the path of a file in the folder.
func (d Dir) File(names ...string) string {
	return filepath.Join(append([]string{d.Path}, names...)...)
}

// Checkpoints is the folder of the local engine.
func (d Dir) Checkpoints() string { return d.File("tinker", "checkpoints") }

// Suffix tells apart what explorers in processes of their own write beside each other; "" for a process with a trainer.
func (d Dir) Suffix() string {
	if d.beside {
		return "-" + d.explorer
	}
	return ""
}

// Metrics is the name of metrics.jsonl, or of what another role has instead: the lines of an explorer in a process of
// its own are by explore step.
func (d Dir) Metrics() string {
	if d.bench {
		return "metrics-" + Benchmark + ".jsonl"
	}
	return "metrics" + d.Suffix() + ".jsonl"
}

// Prefix begins the names of a job's checkpoints, as upstream's do.
func Prefix(cfg *config.Config) string {
	var parts []string
	for _, p := range []string{cfg.Project, cfg.Group, cfg.Name} {
		if p = disk.Name(p); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "-")
}
