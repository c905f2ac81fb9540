package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// revision is the hub's answer about a repository at a revision.
type revision struct {
	Commit string `json:"sha"`
	Files  []struct {
		Name string `json:"rfilename"`
	} `json:"siblings"`
}

// remote is where a file's bytes are and what they must be.
type remote struct {
	name string
	etag string // sha256 of a large file, git's sha1 of a small one: also the blob's name
	size int64  // bytes
	url  string // good for a while
}

// newClient waits for connections and headers, and never for a whole file. It leaves redirects to its caller.
func newClient() *http.Client {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 60 * time.Second,
		MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: true,
	}
	return &http.Client{Transport: t}
}

// revisionOf asks which commit a revision is and what it holds.
func (h *Hub) revisionOf(ctx context.Context, r repo) (revision, error) {
	u := h.Endpoint + "/api/" + string(r.kind) + "/" + r.id + "/revision/" + url.PathEscape(r.revision)
	resp, err := h.send(ctx, http.MethodGet, u, nil)
	if err != nil {
		return revision{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return revision{}, h.refused(r, "", resp)
	}
	return parseRevision(resp.Body)
}

// mostListing is how many bytes the list of a repository's files may have: room for half a million of them.
const mostListing = 64 << 20

// parseRevision reads the answer and trusts none of it: names become paths.
func parseRevision(body io.Reader) (revision, error) {
	var v revision
	if err := bound.Of(mostListing).Decode(body, &v); err != nil {
		return v, fmt.Errorf("hub: the hub's answer is not what it should be: %w", err)
	}
	if !commitRule.MatchString(v.Commit) {
		return v, fmt.Errorf("hub: the hub names commit %q, which is none", v.Commit)
	}
	for _, f := range v.Files {
		if !filepath.IsLocal(f.Name) || path.Clean(f.Name) != f.Name || strings.Contains(f.Name, "\\") {
			return v, fmt.Errorf("hub: the hub names file %q, which is not a path below a folder", f.Name)
		}
	}
	return v, nil
}

func (v revision) names() []string {
	names := make([]string, len(v.Files))
	for i, f := range v.Files {
		names[i] = f.Name
	}
	slices.Sort(names)
	return names
}

// etagRule keeps blobs inside their folder.
var etagRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,120}$`)

// locate asks for a file's size, ETag and place without fetching it. Redirects on the hub itself are followed; one to
// another server is the place, and what the hub said before it counts.
func (h *Hub) locate(ctx context.Context, r repo, commit, name string) (remote, error) {
	f := remote{name: name, url: h.Endpoint + r.page() + "/resolve/" + commit + "/" + escape(name)}
	for range 6 {
		resp, err := h.send(ctx, http.MethodHead, f.url, nil)
		if err != nil {
			return f, err
		}
		resp.Body.Close()
		if resp.StatusCode >= 400 {
			return f, h.refused(r, name, resp)
		}
		if c := resp.Header.Get("X-Repo-Commit"); c != "" && c != commit {
			return f, fmt.Errorf("hub: %s: %s was asked for at commit %s and answered at %s; try again", r, name,
				commit, c)
		}
		elsewhere, err := f.follow(resp)
		if err != nil {
			return f, fmt.Errorf("hub: %s: %s: %w", r, name, err)
		}
		if resp.StatusCode < 300 || elsewhere {
			return f, f.check(r)
		}
	}
	return f, fmt.Errorf("hub: %s: %s is behind too many redirects", r, name)
}

// follow takes what a response says about the file and goes where it points. elsewhere: to another server.
func (f *remote) follow(resp *http.Response) (elsewhere bool, err error) {
	etag, size := resp.Header.Get("X-Linked-Etag"), resp.Header.Get("X-Linked-Size")
	if resp.StatusCode < 300 {
		etag, size = or(etag, resp.Header.Get("ETag")), or(size, resp.Header.Get("Content-Length"))
	}
	if etag != "" {
		f.etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	}
	if size != "" {
		if f.size, err = strconv.ParseInt(size, 10, 64); err != nil || f.size < 0 {
			return false, fmt.Errorf("size %q is none", size)
		}
	}
	if resp.StatusCode < 300 {
		return false, nil
	}
	to, err := resp.Location()
	if err != nil {
		return false, fmt.Errorf("status %d without a place to go", resp.StatusCode)
	}
	f.url = to.String()
	return to.Host != resp.Request.URL.Host, nil
}

func (f *remote) check(r repo) error {
	if !etagRule.MatchString(f.etag) {
		return fmt.Errorf("hub: %s: %s has ETag %q, which cannot name a blob; is HF_ENDPOINT a hub?", r, f.name, f.etag)
	}
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// escape makes a path part of an address.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// send does one request without a body, again if the server is busy or not reached, at most five times. The token goes
// to the endpoint only. A response that is not an error of the server's is returned whatever its status.
func (h *Hub) send(ctx context.Context, method, address string, header http.Header) (*http.Response, error) {
	return h.repeat(ctx, func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, method, address, nil)
		if err == nil {
			maps.Copy(req.Header, header)
		}
		return req, err
	})
}

// repeat is send for requests that next makes anew.
func (h *Hub) repeat(ctx context.Context, next func() (*http.Request, error)) (*http.Response, error) {
	client := *h.Client
	between := h.Pause
	for try := 1; ; try++ {
		req, err := next()
		if err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
		if req.Method == http.MethodHead {
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		}
		req.Header.Set("User-Agent", "trinity")
		req.Header.Set("Accept-Encoding", "identity") // sizes and ranges are of the bytes themselves
		if h.Token != "" && strings.HasPrefix(req.URL.String(), h.Endpoint+"/") {
			req.Header.Set("Authorization", "Bearer "+h.Token)
		}
		resp, err := client.Do(req)
		if err == nil && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			return resp, nil
		}
		if err == nil {
			resp.Body.Close()
			err = errors.New(resp.Status)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var dialled *net.OpError
		nobody := errors.As(err, &dialled) && dialled.Op == "dial" // no network, or no server there
		if try == 5 || nobody && try == 2 {
			return nil, &unreachable{h.Endpoint, err}
		}
		if err := pause.For(ctx, between); err != nil {
			return nil, err
		}
		between *= 2
	}
}
