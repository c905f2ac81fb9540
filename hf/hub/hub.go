// Package hub turns the name of a model or data set on the Hugging Face hub into a folder on this machine: out of the
// cache that Python's huggingface_hub keeps too, or by a download into it.
//
// The layout of the cache (blobs, refs, snapshots; one tree for both programs) is described at
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Options are where the cache is and how to download into it.
type Options struct {
	Cache    string // the folder that holds models--… and datasets--…
	Endpoint string // https://huggingface.co by default
	Token    string // of an account, for gated and private repositories; "" if there is none
	Offline  bool   // never ask the hub
	// Check may refuse a model by the contents of its config.json before its weights are downloaded; nil refuses none.
	Check    func(config []byte) error
	Progress func(Progress) // told how a download goes, by one goroutine at a time; may be nil
	Client   *http.Client   // a client with timeouts for connecting by default
	fs       disk.FS        // disk.OS unless a test has another
	Parallel int            // requests at a time; 8 by default
	PartSize int64          // bytes of a request, the most that a kill loses; 16 MiB by default
	Pause    time.Duration  // before the first repetition of a failed request, doubled each time; a second by default
}

// Progress is how far the download of one repository is.
type Progress struct {
	Name        string // of the repository
	Files       int    // in all
	Done, Bytes int64  // bytes that are here, and in all
}

// Hub finds and fetches repositories. It is safe for concurrent use, and several processes may use one cache.
type Hub struct {
	Options
	slots chan struct{} // one for each request that may be under way
}

// defaultEndpoint is the public hub.
const defaultEndpoint = "https://huggingface.co"

// New returns a hub over the cache. It touches neither disk nor network.
func New(o Options) *Hub {
	o.Endpoint = cmp.Or(o.Endpoint, defaultEndpoint)
	o.Client = cmp.Or(o.Client, newClient())
	o.fs = cmp.Or(o.fs, disk.OS())
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.PartSize <= 0 {
		o.PartSize = 16 << 20
	}
	if o.Pause <= 0 {
		o.Pause = time.Second
	}
	return &Hub{Options: o, slots: make(chan struct{}, o.Parallel)}
}

// Listing is the content of a repository: in the cache, or on the hub.
type Listing struct {
	Names []string                                               // paths with slashes, sorted
	Read  func(ctx context.Context, name string) ([]byte, error) // one file's content, up to disk.BigFile bytes
	// of the cache, which may hold a part of the repository only
	Local bool
}

// Choose names the files of a listing that are needed, or says why the listing does not do.
type Choose func(ctx context.Context, l Listing) ([]string, error)

// Model returns the folder of a model: configuration, tokenizer, chat template and safetensors weights.
func (h *Hub) Model(ctx context.Context, name string) (string, error) {
	return h.find(ctx, models, name, h.chooseModel)
}

// Weights is Model for those who need no tokenizer.
func (h *Hub) Weights(ctx context.Context, name string) (string, error) {
	return h.find(ctx, models, name, h.chooseDescribed)
}

// Files returns a folder that holds the files of a model's repository that choose names, in the repository's layout.
func (h *Hub) Files(ctx context.Context, name string, choose Choose) (string, error) {
	return h.find(ctx, models, name, choose)
}

// Dataset returns a folder that holds the files of a data set that choose names, in the repository's layout.
func (h *Hub) Dataset(ctx context.Context, name string, choose Choose) (string, error) {
	return h.find(ctx, datasets, name, choose)
}

// find returns the snapshot's folder. A snapshot in the cache that has all that is needed is taken without asking the
// hub, so that a resumed job finds what it began with; name@revision asks for another one.
func (h *Hub) find(ctx context.Context, k kind, name string, choose Choose) (string, error) {
	r, err := parse(k, name)
	if err != nil {
		return "", err
	}
	dir, lacks := h.cached(ctx, r, choose)
	if lacks == nil {
		return dir, nil
	}
	if h.Offline {
		return "", fmt.Errorf("hub: HF_HUB_OFFLINE is set and %s is not whole in the cache %s: %w; unset "+
			"HF_HUB_OFFLINE, or copy the folder %s from a machine that has it", r, h.Cache, lacks, r.folder())
	}
	unlock, err := h.lock(ctx, r)
	if err != nil {
		return "", fmt.Errorf("hub: the cache %s cannot be written: %w; name another folder in HF_HOME", h.Cache, err)
	}
	defer unlock()
	if dir, err := h.cached(ctx, r, choose); err == nil {
		return dir, nil // another process has fetched it meanwhile
	}
	dir, err = h.fetch(ctx, r, choose)
	if err != nil && errors.As(err, new(*unreachable)) {
		return "", fmt.Errorf("%w; in the cache: %w", err, lacks)
	}
	return dir, err
}
