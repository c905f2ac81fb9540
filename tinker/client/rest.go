package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// archiveWindow is how long a server may take to build an archive.
const archiveWindow = 10 * time.Minute

// owned restricts a list to the account of the key.
const owned = "access_scope=owned"

// TrainingRuns lists training runs, the latest first.
func (c *Client) TrainingRuns(ctx context.Context, limit, offset int) (out wire.TrainingRuns, err error) {
	err = c.getJSON(ctx, fmt.Sprintf("/training_runs?limit=%d&offset=%d&%s", limit, offset, owned), &out)
	return out, err
}

// TrainingRun describes a training run; its id is the model's.
func (c *Client) TrainingRun(ctx context.Context, id string) (out wire.TrainingRun, err error) {
	err = c.getJSON(ctx, "/training_runs/"+escape(id)+"?"+owned, &out)
	return out, err
}

// Checkpoints lists the checkpoints of a training run.
func (c *Client) Checkpoints(ctx context.Context, run string) ([]wire.Checkpoint, error) {
	var out wire.Checkpoints
	err := c.getJSON(ctx, "/training_runs/"+escape(run)+"/checkpoints", &out)
	return out.Checkpoints, err
}

// AllCheckpoints lists the checkpoints of all training runs, the newest first.
func (c *Client) AllCheckpoints(ctx context.Context, limit, offset int) (out wire.Checkpoints, err error) {
	err = c.getJSON(ctx, fmt.Sprintf("/checkpoints?limit=%d&offset=%d", limit, offset), &out)
	return out, err
}

// DeleteCheckpoint implements tinker.Service.
func (c *Client) DeleteCheckpoint(ctx context.Context, path string) error {
	return c.checkpoint(ctx, http.MethodDelete, path, "")
}

// Publish makes a checkpoint readable for every tenant.
func (c *Client) Publish(ctx context.Context, path string) error {
	return c.checkpoint(ctx, http.MethodPost, path, "/publish")
}

// Unpublish makes a published checkpoint private again.
func (c *Client) Unpublish(ctx context.Context, path string) error {
	return c.checkpoint(ctx, http.MethodDelete, path, "/publish")
}

// SetTTL makes a checkpoint expire after ttl; 0 keeps it.
func (c *Client) SetTTL(ctx context.Context, path string, ttl time.Duration) error {
	at, err := checkpointPath(path)
	if err != nil {
		return err
	}
	var body wire.TTLRequest
	if ttl != 0 {
		seconds := int64((ttl + time.Second - 1) / time.Second)
		body.TTLSeconds = &seconds
	}
	r, err := post(at+"/ttl", body)
	if err != nil {
		return err
	}
	r.method = http.MethodPut
	_, err = c.call(ctx, r)
	return err
}

// ArchiveURL returns a temporary address at which a checkpoint can be downloaded as a tar without a key.
func (c *Client) ArchiveURL(ctx context.Context, path string) (string, error) {
	at, err := checkpointPath(path)
	if err != nil {
		return "", err
	}
	r := &apiRequest{method: http.MethodGet, path: at + "/archive", retries: retries, window: archiveWindow,
		redirect: true}
	resp, err := c.call(ctx, r)
	if err != nil {
		return "", err
	}
	if to := resp.header.Get("Location"); resp.status/100 == 3 {
		if _, err := url.Parse(to); err != nil || to == "" {
			return "", serverf("client: the archive of %s has the address %q, which is not a URL", path, to)
		}
		return to, nil
	}
	out, err := object[wire.ArchiveURL](resp.body)
	if err != nil || out.URL == "" {
		return "", serverf("client: %s returned no address for the archive of %s", c.base, path)
	}
	return out.URL, nil
}

// ServerSessions lists session ids.
func (c *Client) ServerSessions(ctx context.Context, limit, offset int) ([]string, error) {
	var out wire.Sessions
	err := c.getJSON(ctx, fmt.Sprintf("/sessions?limit=%d&offset=%d&%s", limit, offset, owned), &out)
	return out.Sessions, err
}

// ServerSession lists the runs and samplers of a session.
func (c *Client) ServerSession(ctx context.Context, id string) (out wire.Session, err error) {
	err = c.getJSON(ctx, "/sessions/"+escape(id)+"?"+owned, &out)
	return out, err
}

// WeightsInfo describes a checkpoint as far as loading it needs.
func (c *Client) WeightsInfo(ctx context.Context, path string) (out wire.WeightsInfo, err error) {
	err = c.postJSON(ctx, "/weights_info", wire.WeightsInfoRequest{TinkerPath: path}, &out)
	return out, err
}

// checkpoint sends a request without a body to the path of a checkpoint followed by of.
func (c *Client) checkpoint(ctx context.Context, method, path, of string) error {
	at, err := checkpointPath(path)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, &apiRequest{method: method, path: at + of, contentType: wire.JSON, window: window,
		retries: retries})
	return err
}

// checkpointPath returns the REST path of a checkpoint.
func checkpointPath(path string) (string, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return "", err
	}
	return "/training_runs/" + escape(p.ModelID) + "/checkpoints/" + string(p.Kind) + "/" + p.Name, nil
}

// escape escapes an id for one segment of a path. The colon of model ids stays unescaped.
func escape(id string) string { return url.PathEscape(id) }
