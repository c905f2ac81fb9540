package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wrappers are the wrappers that have names, as upstream calls them. The Renderer may be nil where it is not used.
var wrappers = map[string]func(Renderer) Wrapper{
	"concat":               history(Observations),
	"concat_with_action":   history(Dialogue),
	"concat_chat":          history(Chat),
	"concat_chat_on_reset": history(ChatOnReset),
	"episode_tracking":     func(Renderer) Wrapper { return func(e Env) Env { return NewTracker(e) } },
}

func history(mode Mode) func(Renderer) Wrapper {
	return func(r Renderer) Wrapper {
		return func(e Env) Env { return NewHistory(e, HistoryOptions{Mode: mode, Renderer: r}) }
	}
}

// Wrappers reads names separated by commas, innermost first, such as "concat,episode_tracking"; "" names none. r
// renders the chat modes and may be nil if none is asked for.
func Wrappers(names string, r Renderer) ([]Wrapper, error) {
	var list []Wrapper
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		if name == "" && strings.TrimSpace(names) == "" {
			break
		}
		w, ok := wrappers[name]
		if !ok {
			return nil, fmt.Errorf("env: there is no wrapper %q%s", name,
				nearest(name, slices.Sorted(maps.Keys(wrappers))))
		}
		if r == nil && strings.Contains(name, "chat") {
			return nil, fmt.Errorf("env: the wrapper %q needs a chat template; give a model that has one, or take "+
				"concat or concat_with_action", name)
		}
		list = append(list, w(r))
	}
	return list, nil
}

// Retells reports whether wrappers, named as for Wrappers, show the model its own actions again.
func Retells(names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		switch strings.TrimSpace(name) {
		case "concat_with_action", "concat_chat", "concat_chat_on_reset":
			return true
		}
	}
	return false
}
