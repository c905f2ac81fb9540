package hub

import (
	"strings"
	"testing"
)

func TestOrigin(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	if repo, c, ok := Origin("/c/models--owner--name/snapshots/" + commit); repo != "owner/name" || c != commit || !ok {
		t.Errorf("%q, %q, %v", repo, c, ok)
	}
	for _, dir := range []string{"/c/models--owner--name/snapshots/main", "/c/datasets--a--b/snapshots/" + commit,
		"/c/models--owner--name/refs/" + commit, "/models/tiny", ""} {
		if repo, _, ok := Origin(dir); ok {
			t.Errorf("%s is of %s", dir, repo)
		}
	}
}
