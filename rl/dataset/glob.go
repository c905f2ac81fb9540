package dataset

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// isPattern reports whether a path means several files: *, ?, [a-z], ** for any folders, {a,b} for either.
func isPattern(p string) bool { return strings.ContainsAny(p, "*?[{") }

// expand writes out the first {a,b} of a pattern, and those inside it, until none is left.
func expand(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	end := strings.IndexByte(pattern[open:], '}')
	if end < 0 {
		return []string{pattern}
	}
	var out []string
	for _, word := range strings.Split(pattern[open+1:open+end], ",") {
		out = append(out, expand(pattern[:open]+word+pattern[open+end+1:])...)
		if len(out) > 10_000 {
			return out
		}
	}
	return out
}

// matches reports whether a name with slashes fits a pattern without braces.
func matches(pattern, name string) bool {
	return matchParts(strings.Split(path.Clean(pattern), "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(name) + 1 {
				if matchParts(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}

// pick returns the names that fit any of the patterns, in the order of the patterns and sorted within each.
func pick(names, patterns []string) []string {
	var out []string
	for _, p := range patterns {
		for _, q := range expand(p) {
			for _, n := range names {
				if matches(q, n) && !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// glob lists the files on disk that fit a pattern.
func glob(pattern string) ([]string, error) {
	var out []string
	for _, p := range expand(filepath.ToSlash(pattern)) {
		root, rest := "", p
		for { // the folders before the first that is a pattern
			dir, after, ok := strings.Cut(rest, "/")
			if !ok || isPattern(dir) {
				break
			}
			root, rest = root+dir+"/", after
		}
		root = or(root, ".")
		names, err := walk(filepath.FromSlash(root))
		if err != nil {
			return nil, err
		}
		for _, n := range pick(names, []string{rest}) {
			out = append(out, filepath.Join(filepath.FromSlash(root), filepath.FromSlash(n)))
		}
	}
	return out, nil
}

// walk lists the data files below a folder and README.md, sorted, with slashes and relative to it. Hidden files and
// folders are left out; a folder that is not there has none.
func walk(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		hidden := p != dir && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil && p == dir:
			return nil
		case err != nil:
			return err
		case d.IsDir() && hidden:
			return filepath.SkipDir
		case d.IsDir() || hidden:
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(names)
	return names, err
}
