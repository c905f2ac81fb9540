package dataset

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// cardConfig is one subset as the YAML at the top of a data set's README.md describes it.
// https://huggingface.co/docs/hub/datasets-manual-configuration
type cardConfig struct {
	Name      string `yaml:"config_name"`
	Default   bool   `yaml:"default"`
	DataDir   string `yaml:"data_dir"`
	DataFiles any    `yaml:"data_files"`
}

// parseCard reads the configs of a README. A text without them, or that cannot be read, has none.
func parseCard(readme string) []cardConfig {
	text := strings.TrimPrefix(strings.ReplaceAll(readme, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(text, "---\n")
	head, _, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return nil
	}
	var card struct {
		Configs []cardConfig `yaml:"configs"`
	}
	if err := yaml.Unmarshal([]byte(head), &card); err != nil {
		return nil
	}
	return card.Configs
}

// selectConfig names the files of a split of the subset that is asked for. nil: the subset says nothing about files.
func selectConfig(configs []cardConfig, data []string, subset, split string) ([]string, error) {
	c, err := chooseConfig(configs, subset)
	if err != nil {
		return nil, err
	}
	patterns := c.patterns()
	if len(patterns) == 0 {
		if c.DataDir == "" {
			return nil, nil
		}
		dir := strings.Trim(c.DataDir, "/") + "/"
		return inFolder(below(data, dir), dir, split)
	}
	if len(patterns[split]) == 0 {
		var known []string
		for _, name := range splitNames(c.DataFiles) {
			known = append(known, fmt.Sprintf("%q", name))
		}
		return nil, fmt.Errorf("subset %q has no split %q; README.md lists %s", c.Name, split,
			strings.Join(known, ", "))
	}
	found := pick(data, patterns[split])
	if found == nil {
		return nil, fmt.Errorf("no file for %q, the split %q of subset %q; there is %s",
			strings.Join(patterns[split], ", "), split, c.Name, listed(data))
	}
	return found, complete(found)
}

func chooseConfig(configs []cardConfig, subset string) (cardConfig, error) {
	var names []string
	for _, c := range configs {
		if c.Name == subset || subset == "" && (c.Default || c.Name == "default") {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if subset == "" && len(configs) == 1 {
		return configs[0], nil
	}
	return cardConfig{}, fmt.Errorf("no subset %q; README.md lists %s; set subset_name to one of them", subset,
		strings.Join(names, ", "))
}

// patterns are the path patterns of each split: data_files is a path, a list of paths (both train), a map from split to
// these, or a list of objects with split and path.
func (c cardConfig) patterns() map[string][]string {
	out := map[string][]string{}
	add := func(split string, v any) {
		for _, p := range texts(v) {
			if c.DataDir != "" {
				p = strings.TrimSuffix(c.DataDir, "/") + "/" + p
			}
			out[split] = append(out[split], p)
		}
	}
	switch v := c.DataFiles.(type) {
	case map[string]any:
		for split, paths := range v {
			add(split, paths)
		}
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				split, _ := m["split"].(string)
				add(splitOr(split), m["path"])
			} else {
				add("train", item)
			}
		}
	default:
		add("train", v)
	}
	return out
}

// splitNames are the splits of data_files, in their order where it has one.
func splitNames(files any) []string {
	var names []string
	switch v := files.(type) {
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				split, _ := m["split"].(string)
				names = append(names, splitOr(split))
			}
		}
	case map[string]any:
		for _, s := range splits {
			if _, ok := v[s[0]]; ok {
				names = append(names, s[0])
			}
		}
	}
	return names
}

// texts is a text, or the texts of a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, texts(item)...)
		}
		return out
	}
	return nil
}
