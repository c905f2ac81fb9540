package hub

import (
	"fmt"
	"net/http"
)

// unreachable is an error of the way to the hub, not of what was asked.
type unreachable struct {
	endpoint string
	err      error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("hub: cannot reach %s: %v; check the network, name a mirror in HF_ENDPOINT, or give a local "+
		"folder", e.endpoint, e.err)
}

func (e *unreachable) Unwrap() error { return e.err }

// refused says why the hub did not give a repository, or the file name of it, and what to do.
func (h *Hub) refused(r repo, name string, resp *http.Response) error {
	page := h.Endpoint + r.page()
	switch code := resp.Header.Get("X-Error-Code"); {
	case code == "GatedRepo" && h.Token == "":
		return fmt.Errorf("hub: %s is gated: open %s in a browser, accept its terms, and set HF_TOKEN to a token of "+
			"that account (%s/settings/tokens)", r, page, h.Endpoint)
	case code == "GatedRepo":
		return fmt.Errorf("hub: %s is gated and the account of this HF_TOKEN has no access: open %s in a browser as "+
			"that account and accept its terms", r, page)
	case code == "RevisionNotFound":
		return fmt.Errorf("hub: %s: there is no revision %q; %s/tree/main lists branches and tags", r, r.revision, page)
	case code == "EntryNotFound":
		return fmt.Errorf("hub: %s has no file %q", r, name)
	case resp.StatusCode == http.StatusUnauthorized && h.Token != "" && code != "RepoNotFound":
		return fmt.Errorf("hub: %s: HF_TOKEN is not accepted; make a new one at %s/settings/tokens, or unset it for "+
			"public repositories", r, h.Endpoint)
	case code == "RepoNotFound" || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusNotFound:
		hint := "set HF_TOKEN if it is private"
		if h.Token != "" {
			hint = "the account of this HF_TOKEN may have no access if it is private"
		}
		return fmt.Errorf("hub: there is no %s at %s (and no such folder here); check the name, and %s", r, h.Endpoint,
			hint)
	}
	return fmt.Errorf("hub: %s: %s answers %s %.300s", r, resp.Request.URL.Host, resp.Status,
		resp.Header.Get("X-Error-Message"))
}
