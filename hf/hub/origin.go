package hub

import (
	"path/filepath"
	"strings"
)

// Origin returns the repository and the commit of a model's folder in a cache; ok is false for any other folder.
func Origin(dir string) (repo, commit string, ok bool) {
	commit = filepath.Base(dir)
	snapshots := filepath.Dir(dir)
	name, isModel := strings.CutPrefix(filepath.Base(filepath.Dir(snapshots)), string(models)+"--")
	repo = strings.ReplaceAll(name, "--", "/")
	if !isModel || filepath.Base(snapshots) != "snapshots" || !commitRule.MatchString(commit) || !IsName(repo) {
		return "", "", false
	}
	return repo, commit, true
}
