package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wrappers are the wrappers that have names, as upstream calls them. The Renderer may be nil if none of them renders
// chats.
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
// renders the chat modes and may be nil if none is asked for. tools are the wrappers of tools by their names, which
// package rl/tool opens.
func Wrappers(names string, r Renderer, tools ...map[string]Wrapper) ([]Wrapper, error) {
	var list []Wrapper
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		if name == "" && strings.TrimSpace(names) == "" {
			break
		}
		if w := toolWrapper(name, tools); w != nil {
			list = append(list, w)
			continue
		}
		w, ok := wrappers[name]
		if !ok {
			known := slices.Collect(maps.Keys(wrappers))
			for _, t := range tools {
				known = slices.AppendSeq(known, maps.Keys(t))
			}
			slices.Sort(known)
			return nil, fmt.Errorf("env: there is no wrapper %q%s", name, nearest(name, known))
		}
		if r == nil && strings.Contains(name, "chat") {
			return nil, fmt.Errorf("env: the wrapper %q needs a chat template; give a model that has one, or take "+
				"concat or concat_with_action", name)
		}
		list = append(list, w(r))
	}
	return list, nil
}

func toolWrapper(name string, tools []map[string]Wrapper) Wrapper {
	for _, t := range tools {
		if w := t[name]; w != nil {
			return w
		}
	}
	return nil
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
