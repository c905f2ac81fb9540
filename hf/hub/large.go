package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// upload is a file that is pushed.
type upload struct {
	name   string // in the repository
	path   string // here
	size   int64
	sha256 string // hex
	sample []byte // its first bytes
	large  bool   // stored by LFS
}

// sampleBytes is what the hub looks at to tell text from other files.
const sampleBytes = 512

// readUploads reads the files once, for their hashes. They are in the order of their names.
func readUploads(files map[string]string) (list []*upload, err error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("hub: %q is not a path below a repository", name)
		}
		f, err := readUpload(name, files[name])
		if err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
		list = append(list, f)
	}
	return list, nil
}

func readUpload(name, path string) (*upload, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sample := make([]byte, sampleBytes)
	n, err := io.ReadFull(file, sample)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	sum := sha256.New()
	sum.Write(sample[:n])
	rest, err := io.Copy(sum, file)
	return &upload{name: name, path: path, size: int64(n) + rest, sha256: hex.EncodeToString(sum.Sum(nil)),
		sample: sample[:n]}, err
}

// content is the whole file, for those that a commit carries.
func (f *upload) content() ([]byte, error) {
	data, err := os.ReadFile(f.path)
	if err == nil && int64(len(data)) != f.size {
		err = fmt.Errorf("hub: %s changed while it was pushed; push it again", f.path)
	}
	return data, err
}

// The batch API of Git LFS.
const (
	lfsBatch = ".git/info/lfs/objects/batch"
	lfsType  = "application/vnd.git-lfs+json"
)

// action is what LFS wants done with an object.
type action struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// storeLarge uploads the large files that the hub does not have.
func (h *Hub) storeLarge(ctx context.Context, r repo, list []*upload) error {
	objects, byOID := []map[string]any{}, map[string]*upload{}
	for _, f := range list {
		if f.large {
			objects, byOID[f.sha256] = append(objects, map[string]any{"oid": f.sha256, "size": f.size}), f
		}
	}
	if len(objects) == 0 {
		return nil
	}
	var batch struct {
		Objects []struct {
			OID     string            `json:"oid"`
			Actions map[string]action `json:"actions"`
			Error   *struct {
				Message string `json:"message"`
			} `json:"error"`
		} `json:"objects"`
	}
	if err := h.ask(ctx, r, "/"+r.id+lfsBatch, map[string]any{"operation": "upload", "objects": objects,
		"transfers": []string{"basic", "multipart"}, "hash_algo": "sha256"}, &batch); err != nil {
		return err
	}
	for _, o := range batch.Objects {
		f := byOID[o.OID]
		switch {
		case f == nil:
			return fmt.Errorf("hub: %s: LFS names an object %q that was not offered", r, o.OID)
		case o.Error != nil:
			return fmt.Errorf("hub: %s: LFS refuses %s: %s", r, f.name, o.Error.Message)
		}
		if err := h.store(ctx, r, f, o.Actions); err != nil {
			return err
		}
	}
	return nil
}

// store uploads one file, whole or in parts, and has it verified. Without an action the hub has it.
func (h *Hub) store(ctx context.Context, r repo, f *upload, do map[string]action) error {
	up, needed := do["upload"]
	if !needed {
		return nil
	}
	var err error
	if chunk := up.Header["chunk_size"]; chunk != "" {
		err = h.putParts(ctx, r, f, up, chunk)
	} else {
		_, err = h.put(ctx, r, f, up.Href, 0, f.size)
	}
	if verify, asked := do["verify"]; err == nil && asked {
		err = h.tell(ctx, r, verify.Href, "application/json", map[string]any{"oid": f.sha256, "size": f.size},
			nil)
	}
	return err
}

// putParts uploads a file in parts of chunk bytes, whose addresses are in the header under their numbers, and then says
// what each part's ETag is.
func (h *Hub) putParts(ctx context.Context, r repo, f *upload, up action, chunk string) error {
	size, err := strconv.ParseInt(chunk, 10, 64)
	if err != nil || size < 1 {
		return fmt.Errorf("hub: %s: LFS asks for parts of %q bytes", r, chunk)
	}
	parts := []map[string]any{}
	for at := int64(0); at < f.size; at += size {
		n := len(parts) + 1
		address := up.Header[strconv.Itoa(n)]
		for width := 2; address == "" && width < 10; width++ { // the numbers may have leading zeros
			address = up.Header[fmt.Sprintf("%0*d", width, n)]
		}
		if address == "" {
			return fmt.Errorf("hub: %s: LFS names no address for part %d of %s", r, n, f.name)
		}
		etag, err := h.put(ctx, r, f, address, at, min(size, f.size-at))
		if err != nil {
			return err
		}
		parts = append(parts, map[string]any{"partNumber": n, "etag": etag})
	}
	return h.tell(ctx, r, up.Href, lfsType, map[string]any{"oid": f.sha256, "parts": parts}, nil)
}

// put sends n bytes of a file from at on to an address, and returns the answer's ETag.
func (h *Hub) put(ctx context.Context, r repo, f *upload, address string, at, n int64) (etag string, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return "", fmt.Errorf("hub: %w", err)
	}
	defer file.Close()
	resp, err := h.repeat(ctx, func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.NewSectionReader(file, at, n))
		if err == nil {
			req.ContentLength = n
		}
		return req, err
	})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return strings.TrimSpace(resp.Header.Get("ETag")), h.written(r, resp, nil)
}
