package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Newer SDKs have a third kind of checkpoint, external_weights, in a format for other programs; their tinker command
// downloads through one. Here a sampler's checkpoint is a PEFT adapter already, so an external checkpoint is such a
// checkpoint with a reserved name.
const (
	kindExternal   = "external_weights"
	typeExternal   = "external"
	externalPrefix = "=external-"
)

// inner is the path under which an external checkpoint is saved; other paths stay as they are.
func inner(path string) string {
	if run, name, ok := strings.Cut(path, "/"+kindExternal+"/"); ok {
		return run + "/" + string(tinker.KindSampler) + "/" + externalPrefix + name
	}
	return path
}

// outer returns the kind and name of a checkpoint as users see them.
func outer(p tinker.Path) (kind, name string) {
	if name, ok := strings.CutPrefix(p.Name, externalPrefix); ok {
		return kindExternal, name
	}
	return string(p.Kind), p.Name
}

// saveExternalRequest is the body of save_weights_external.
type saveExternalRequest struct {
	wire.SaveRequest
	Recipients []string `json:"age_encryption_recipients"`
}

func (s *Server) saveExternal(c *call, req saveExternalRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	switch {
	case len(req.Recipients) > 0:
		return s.reject(m, req.SeqID, tinker.Userf("age_encryption_recipients names %d; exports are not encrypted "+
			"here: leave it out (TLS protects the download), and download the path that "+
			"save_weights_external returns", len(req.Recipients)))
	case req.Path == nil:
		return s.reject(m, req.SeqID, tinker.Userf("save_weights_external needs a path, the checkpoint's name"))
	}
	if err := checkSave(req.SaveRequest, *req.Path); err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return s.save(c, m, req.SaveRequest, tinker.KindSampler, externalPrefix+*req.Path)
}

// tokenFile marks the address of one file, by checkpoint path and file name, one per line, and the expiry time.
const tokenFile = "f"

// externalURLs returns an address for every file of an external checkpoint.
func (s *Server) externalURLs(c *call) (any, error) {
	if c.r.PathValue("kind") != kindExternal {
		return nil, tinker.Userf("%s is not an external checkpoint; save one with save_weights_external",
			c.r.PathValue("kind")+"/"+c.r.PathValue("name"))
	}
	k, err := s.checkpointOf(c, s.readableOnly)
	if err != nil {
		return nil, err
	}
	dir, err := s.opts.Store.Folder(k.Path.String())
	if err != nil {
		return nil, err
	}
	names, err := disk.Files(dir)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	expires, urls := s.opts.Now().Add(archiveFor).UTC().Truncate(time.Second), map[string]string{}
	for _, name := range names {
		urls[name] = s.address(c, tokenFile, k.Path.String()+"\n"+name, expires)
	}
	return map[string]any{"urls": urls, "expires": expires}, nil
}

// address returns an address that works without a key until it expires.
func (s *Server) address(c *call, kind, id string, expires time.Time) string {
	return s.origin(c.r) + wire.Prefix + "/archive/" + s.token(kind, id, expires.Unix())
}

// origin is the scheme and host under which a client reaches this server: PublicURL, else a proxy's headers, else the
// request's own. A client that forges them only gets a wrong address itself.
func (s *Server) origin(r *http.Request) string {
	if s.opts.PublicURL != "" {
		return strings.TrimRight(s.opts.PublicURL, "/")
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if v := first(r.Header.Get("X-Forwarded-Proto")); v == "http" || v == "https" {
		scheme = v
	}
	if v := first(r.Header.Get("X-Forwarded-Host")); v != "" {
		host = v
	}
	return (&url.URL{Scheme: scheme, Host: host}).String()
}

// first is the first of a header's values, which the proxy nearest to the client set.
func first(values string) string {
	v, _, _ := strings.Cut(values, ",")
	return strings.TrimSpace(v)
}

// sendFile answers with one file of a checkpoint. id comes from a token, so only this server can have chosen the name.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, id string) error {
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
		s.opts.Log.Warn("a file was not downloaded completely", "path", path, "file", name, "error", err)
	}
	return nil
}

// knowsExternal reports whether a client can read lists with external checkpoints in them: the SDK up to 0.25 cannot.
func knowsExternal(r *http.Request) bool {
	parts := strings.Split(r.Header.Get("X-Stainless-Package-Version"), ".")
	if len(parts) < 2 || parts[0] != "0" {
		return true
	}
	minor, err := strconv.Atoi(parts[1])
	return err != nil || minor > 25
}
