package job

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
)

// Names returns the names of the built-in functions and of the program's parts, for [config.Load].
func (p Plugins) Names() config.Names {
	selectors := dataset.Selectors()
	maps.Copy(selectors, p.Selectors)
	return config.Names{Functions: algorithm.Names(p.Tables()), Selectors: slices.Sorted(maps.Keys(selectors)),
		Monitors: slices.Sorted(maps.Keys(p.Monitors)),
		Refused: map[string]string{"cod": "CoD's advantage is not here: its workflows are a Python research package; " +
			"choose step_wise_grpo, or bring an advantage of your own in a Go program (examples/plugin)"}}
}

// Names lists the names in the plug-in files for [config.Load], before they are loaded.
func (p Python) Names() config.Names {
	readers, refused := plugin.Scan(p.Dirs).Names()
	return config.Names{Readers: readers, Refused: refused}
}
