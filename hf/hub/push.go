package hub

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// The protocol of an upload is huggingface_hub 1.4.1's: create_repo in hf_api.py, _fetch_upload_modes and
// _prepare_commit_payload in _commit_api.py, and lfs.py
// (https://github.com/huggingface/huggingface_hub/tree/v1.4.1/src/huggingface_hub). Large files are stored by Git LFS's
// batch API (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md) before the commit names them.

// Push commits files, by their names in the repository, to a model on the hub, and returns its page. A model that is
// not there is made, private. Files that the model has are replaced only if overwrite is set.
func Push(ctx context.Context, h *Hub, name, summary string, files map[string]string,
	overwrite bool) (page string, err error) {
	r, err := parse(models, name)
	switch {
	case err != nil:
		return "", err
	case h.Token == "":
		return "", fmt.Errorf("hub: pushing %s needs an account: set HF_TOKEN to a token that may write "+
			"(%s/settings/tokens)", r, h.Endpoint)
	case h.Offline:
		return "", fmt.Errorf("hub: HF_HUB_OFFLINE is set, so %s cannot be pushed; unset it", r)
	}
	list, err := readUploads(files)
	if err != nil {
		return "", err
	}
	if err := h.create(ctx, r); err != nil {
		return "", err
	}
	if err := h.conflicts(ctx, r, list, overwrite); err != nil {
		return "", err
	}
	if err := h.askModes(ctx, r, list); err != nil {
		return "", err
	}
	if err := h.storeLarge(ctx, r, list); err != nil {
		return "", err
	}
	return h.Endpoint + r.page(), h.name(ctx, r, summary, list)
}

// create makes the repository unless it is there.
func (h *Hub) create(ctx context.Context, r repo) error {
	owner, name, _ := strings.Cut(r.id, "/")
	resp, err := h.post(ctx, "/api/repos/create", "application/json",
		map[string]any{"type": "model", "name": name, "organization": owner, "private": true})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusConflict {
		return nil
	}
	return h.written(r, resp, nil)
}

// conflicts refuses to replace files of the repository.
func (h *Hub) conflicts(ctx context.Context, r repo, list []*upload, overwrite bool) error {
	if overwrite {
		return nil
	}
	v, err := h.revisionOf(ctx, r)
	if err != nil {
		return err
	}
	for _, f := range list {
		if slices.Contains(v.names(), f.name) {
			return fmt.Errorf("hub: %s has a file %s already; choose another name, or replace what it has with "+
				"--overwrite", r, f.name)
		}
	}
	return nil
}

// askModes asks for each file whether the commit carries it or LFS stores it.
func (h *Hub) askModes(ctx context.Context, r repo, list []*upload) error {
	ask := []map[string]any{}
	for _, f := range list {
		ask = append(ask, map[string]any{"path": f.name, "size": f.size,
			"sample": base64.StdEncoding.EncodeToString(f.sample)})
	}
	var said struct {
		Files []struct {
			Path string `json:"path"`
			Mode string `json:"uploadMode"`
		} `json:"files"`
	}
	if err := h.ask(ctx, r, "/api/models/"+r.id+"/preupload/"+r.revision, map[string]any{"files": ask},
		&said); err != nil {
		return err
	}
	for _, f := range list {
		for _, m := range said.Files {
			f.large = f.large || m.Path == f.name && m.Mode == "lfs" && f.size > 0
		}
	}
	return nil
}

// name commits the names of all files, and the content of the small ones.
func (h *Hub) name(ctx context.Context, r repo, summary string, list []*upload) error {
	var lines bytes.Buffer
	say := func(key string, value map[string]any) error {
		return json.NewEncoder(&lines).Encode(map[string]any{"key": key, "value": value})
	}
	if err := say("header", map[string]any{"summary": summary, "description": ""}); err != nil {
		return err
	}
	for _, f := range list {
		value := map[string]any{"path": f.name, "algo": "sha256", "oid": f.sha256, "size": f.size}
		if f.large {
			if err := say("lfsFile", value); err != nil {
				return err
			}
			continue
		}
		content, err := f.content()
		if err != nil {
			return err
		}
		if err := say("file", map[string]any{"path": f.name, "encoding": "base64",
			"content": base64.StdEncoding.EncodeToString(content)}); err != nil {
			return err
		}
	}
	return h.tell(ctx, r, "/api/models/"+r.id+"/commit/"+r.revision, "application/x-ndjson", lines.Bytes(), nil)
}

// ask posts a JSON value and reads another.
func (h *Hub) ask(ctx context.Context, r repo, path string, body, into any) error {
	kind := "application/json"
	if strings.HasSuffix(path, lfsBatch) {
		kind = lfsType
	}
	return h.tell(ctx, r, path, kind, body, into)
}

// tell posts a body and reads the answer into another value, if that is not nil.
func (h *Hub) tell(ctx context.Context, r repo, path, kind string, body, into any) error {
	resp, err := h.post(ctx, path, kind, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return h.written(r, resp, into)
}

// post sends a body, which is bytes or becomes JSON, to a path of the endpoint.
func (h *Hub) post(ctx context.Context, path, kind string, body any) (*http.Response, error) {
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
	}
	if !strings.HasPrefix(path, "http") {
		path = h.Endpoint + path
	}
	return h.repeat(ctx, func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(data))
		if err == nil {
			req.Header.Set("Content-Type", kind)
			req.Header.Set("Accept", strings.Replace(kind, "x-ndjson", "json", 1))
		}
		return req, err
	})
}

// mostAnswer bounds an answer to an upload, in bytes.
const mostAnswer = 16 << 20

// written reads the answer to a request that changes the hub, or says why it was refused.
func (h *Hub) written(r repo, resp *http.Response, into any) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("hub: the account of this HF_TOKEN may not write %s; use a token with the right to write, "+
			"and the name of an owner that it may write for (%s/settings/tokens)", r, h.Endpoint)
	case resp.StatusCode >= 300:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("hub: %s: %s answers %s %s%s; try again, or ask the hub's support", r,
			resp.Request.URL.Path, resp.Status, resp.Header.Get("X-Error-Message"), said)
	case into == nil:
		return nil
	}
	if err := bound.Of(mostAnswer).Decode(resp.Body, into); err != nil {
		return errors.Join(fmt.Errorf("hub: %s: the answer of %s is not understood", r, resp.Request.URL.Path), err)
	}
	return nil
}
