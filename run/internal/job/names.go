package job

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
)

// Names lists the names for [config.Load], so that it does not take them for mistakes.
func (p Plugins) Names() config.Names {
	return config.Names{Advantages: slices.Sorted(maps.Keys(p.Advantages)),
		PolicyLosses: slices.Sorted(maps.Keys(p.PolicyLosses)), Selectors: slices.Sorted(maps.Keys(p.Selectors)),
		Monitors: slices.Sorted(maps.Keys(p.Monitors))}
}

// Names lists the names in the plug-in files for [config.Load], before they are loaded.
func (p Python) Names() config.Names {
	readers, refused := plugin.Scan(p.Dirs).Names()
	return config.Names{Readers: readers, Refused: refused}
}
