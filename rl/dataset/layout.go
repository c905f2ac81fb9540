package dataset

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// readable are the kinds of file there is a reader for, in the order they are looked for.
var readable = []string{".jsonl", ".json", ".csv", ".parquet"}

// notData are files of data set folders that tell about the data.
var notData = []string{"dataset_info.json", "dataset_infos.json", "config.json", "state.json", "package.json",
	"metadata.json"}

// splits are the words by which file names name a split; the first is the split's own.
// https://huggingface.co/docs/datasets/repository_structure
var splits = [][]string{
	{"train", "training"},
	{"validation", "valid", "dev", "val"},
	{"test", "testing", "eval", "evaluation"},
}

// Select names the files of a split, in order, among the names (with slashes, sorted) of a data set's files. What
// readme, the text of README.md or "", says in its configs wins; else the files' names and folders tell: <split>.jsonl,
// .json, .csv or .parquet, the shards <split>-00000-of-00003.parquet, a folder <split>, or the split as a word of the
// name; in the folder of the subset if one is named, and in data/. Files that name no split are train.
func Select(names []string, readme, subset, split string) ([]string, error) {
	split = splitOr(split)
	data := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return !slices.Contains(readable, path.Ext(n)) || slices.Contains(notData, path.Base(n))
	})
	if configs := parseCard(readme); len(configs) > 0 {
		found, err := selectConfig(configs, data, subset, split)
		if err != nil || found != nil {
			return found, err
		}
	}
	folder := ""
	if subset != "" && subset != "default" {
		folder = subset + "/"
	}
	for _, dir := range []string{folder, folder + "data/"} {
		found, err := inFolder(below(data, dir), dir, split)
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, fmt.Errorf("no file for split %q in %s (looked for %s.jsonl, .json, .csv, .parquet and shards of "+
		"them); there is %s", split, or(strings.TrimSuffix(folder, "/"), "the folder"), split, listed(data))
}

// inFolder finds a split's files among those below dir.
func inFolder(names []string, dir, split string) ([]string, error) {
	direct := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.Contains(n[len(dir):], "/") })
	if found := ofSplit(direct, split); found != nil {
		return found, complete(found)
	}
	if found := oneFormat(below(names, dir+split+"/")); found != nil {
		return found, complete(found)
	}
	named := slices.DeleteFunc(slices.Clone(direct), func(n string) bool { return splitOf(path.Base(n)) != split })
	if found := oneFormat(named); found != nil {
		return found, nil
	}
	if split == "train" && !slices.ContainsFunc(direct, func(n string) bool { return splitOf(path.Base(n)) != "" }) {
		return oneFormat(direct), nil
	}
	return nil, nil
}

func below(names []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, dir) })
}

// oneFormat keeps the files of the first format that there is; nil if there is none.
func oneFormat(names []string) []string {
	for _, ext := range readable {
		var found []string
		for _, n := range names {
			if path.Ext(n) == ext {
				found = append(found, n)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// ofSplit picks the file or the shards that are called as the split; one format wins over the others.
func ofSplit(names []string, split string) []string {
	return oneFormat(slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		stem := strings.TrimSuffix(path.Base(n), path.Ext(n))
		shard, isShard := strings.CutPrefix(stem, split+"-")
		_, ok := shardCount(shard)
		return stem != split && !(isShard && ok)
	}))
}

// shardCount reads 00000-of-00003.
func shardCount(s string) (int, bool) {
	var i, n int
	if c, err := fmt.Sscanf(s, "%05d-of-%05d", &i, &n); err != nil || c != 2 {
		return 0, false
	}
	return n, strings.HasPrefix(s, fmt.Sprintf("%05d-of-%05d", i, n))
}

// complete checks that all numbered shards are there.
func complete(names []string) error {
	have := map[string]int{}
	for _, n := range names {
		stem := strings.TrimSuffix(n, path.Ext(n))
		if len(stem) < len("-00000-of-00001") {
			continue
		}
		at := len(stem) - len("00000-of-00001")
		if count, ok := shardCount(stem[at:]); ok {
			group := stem[:at] + stem[at+5:]
			if have[group]++; have[group] > count {
				return fmt.Errorf("more than the %d shards that %s names", count, n)
			}
		}
	}
	for group, n := range have {
		if want, _ := shardCount("00000" + group[len(group)-len("-of-00001"):]); n != want {
			return fmt.Errorf("%d of the %d shards %s… are there", n, want,
				path.Base(group[:len(group)-len("-of-00001")]))
		}
	}
	return nil
}

// splitOf is the split that a word of a file's name names, "" if none does.
func splitOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.TrimSuffix(name, path.Ext(name))), func(r rune) bool {
		return strings.ContainsRune("-._ 0123456789", r)
	})
	for _, w := range words {
		for _, s := range splits {
			if slices.Contains(s, w) {
				return s[0]
			}
		}
	}
	return ""
}

func splitOr(split string) string { return or(split, "train") }

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func listed(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "no data files"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
