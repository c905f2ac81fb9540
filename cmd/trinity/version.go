package main

import (
	"fmt"
	"runtime/debug"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(s *surroundings) error {
	_, err := fmt.Fprintf(s.out, "trinity %s (numerics %s, kernels %s)\n", version(), engine.NewNumerics(),
		engine.Kernels())
	return err
}

// version is the module's version and the commit, as far as the build knows them.
func version() string {
	version, commit := "development", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" {
				commit = " " + kv.Value
			}
		}
	}
	return version + commit
}
