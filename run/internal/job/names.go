package job

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
)

// Names is what [config.Load] must know, so that it does not take the names for mistakes.
func (p Plugins) Names() config.Names {
	return config.Names{Advantages: slices.Sorted(maps.Keys(p.Advantages)),
		PolicyLosses: slices.Sorted(maps.Keys(p.PolicyLosses)), Selectors: slices.Sorted(maps.Keys(p.Selectors)),
		Monitors: slices.Sorted(maps.Keys(p.Monitors))}
}

// Names is what [config.Load] must know of the plug-in files before they are loaded.
func (p Python) Names() config.Names {
	readers, refused := plugin.Scan(p.Dirs).Names()
	return config.Names{Readers: readers, Refused: refused}
}
