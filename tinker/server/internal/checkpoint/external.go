package checkpoint

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Newer SDKs have a third kind of checkpoint, external_weights, in a format for other programs; their tinker command
// downloads through one. Here a sampler's checkpoint is a PEFT adapter already, so an external checkpoint is such a
// checkpoint with a reserved name.
const (
	KindExternal   = "external_weights"
	typeExternal   = "external"
	ExternalPrefix = "=external-"
)

// Inner is the path under which an external checkpoint is saved; other paths stay as they are.
func Inner(path string) string {
	if run, name, ok := strings.Cut(path, "/"+KindExternal+"/"); ok {
		return run + "/" + string(tinker.KindSampler) + "/" + ExternalPrefix + name
	}
	return path
}

// Sampled is the whole path of weights to sample from: SkyRL's clients leave out their kind, as in tinker://RUN/NAME.
func Sampled(path string) string {
	run, name, ok := strings.Cut(strings.TrimPrefix(path, "tinker://"), "/")
	if !ok || strings.Contains(name, "/") || !strings.HasPrefix(path, "tinker://") {
		return path
	}
	return tinker.Path{ModelID: run, Kind: tinker.KindSampler, Name: name}.String()
}

// Outer returns the kind and name of a checkpoint as users see them.
func Outer(p tinker.Path) (kind, name string) {
	if name, ok := strings.CutPrefix(p.Name, ExternalPrefix); ok {
		return KindExternal, name
	}
	return string(p.Kind), p.Name
}

// ExternalURLs returns an address for every file of an external checkpoint.
func (s *Checkpoints) ExternalURLs(c *edge.Call) (any, error) {
	if c.R.PathValue("kind") != KindExternal {
		return nil, tinker.Userf("%s is not an external checkpoint; save one with save_weights_external",
			c.R.PathValue("kind")+"/"+c.R.PathValue("name"))
	}
	k, err := s.checkpointOf(c, s.readableOnly)
	if err != nil {
		return nil, err
	}
	dir, err := s.Store.Folder(k.Path.String())
	if err != nil {
		return nil, err
	}
	names, err := disk.Files(dir)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	expires, urls := s.Life.Now().Add(archiveFor).UTC().Truncate(time.Second), map[string]string{}
	for _, name := range names {
		urls[name] = s.address(c, ticket.File, k.Path.String()+"\n"+name, expires)
	}
	return map[string]any{"urls": urls, "expires": expires}, nil
}

// address returns an address that works without a key until it expires.
func (s *Checkpoints) address(c *edge.Call, kind, id string, expires time.Time) string {
	return s.Edge.Origin(c.R) + wire.Prefix + "/archive/" + s.Tickets.Ticket(kind, id, expires.Unix())
}

// sendFile answers with one file of a checkpoint. id comes from a token, so only this server can have chosen the name.
func (s *Checkpoints) sendFile(w http.ResponseWriter, r *http.Request, id string) error {
	path, name, _ := strings.Cut(id, "\n")
	members, err := s.members(path)
	defer closeAll(members)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(members, func(m archiveMember) bool { return m.Name == name })
	if at < 0 {
		return fmt.Errorf("%s of %s: %w", name, path, tinker.ErrNotFound)
	}
	m := members[at]
	w.Header().Set("Content-Type", "application/octet-stream")
	if m.file != nil {
		http.ServeContent(w, r, "", m.changed, m.file)
		return nil
	}
	w.Header().Set("Content-Length", strconv.FormatInt(m.Size, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	if err := m.Write(w); err != nil {
		s.Life.Log.Warn("a file was not downloaded completely", "path", path, "file", name, "error", err)
	}
	return nil
}

// KnowsExternal reports whether a client can read lists with external checkpoints in them: the SDK up to 0.25 cannot.
func KnowsExternal(r *http.Request) bool {
	parts := strings.Split(r.Header.Get("X-Stainless-Package-Version"), ".")
	if len(parts) < 2 || parts[0] != "0" {
		return true
	}
	minor, err := strconv.Atoi(parts[1])
	return err != nil || minor > 25
}
