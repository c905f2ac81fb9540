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

// owned asks for what belongs to the account of the key.
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

// Publish makes a checkpoint readable for everybody.
func (c *Client) Publish(ctx context.Context, path string) error {
	return c.checkpoint(ctx, http.MethodPost, path, "/publish")
}

// Unpublish takes Publish back.
func (c *Client) Unpublish(ctx context.Context, path string) error {
	return c.checkpoint(ctx, http.MethodDelete, path, "/publish")
}

// SetTTL lets a checkpoint end after ttl, or keeps it for good if ttl is 0.
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

// ArchiveURL is where a checkpoint can be downloaded as a tar for a while, without a key.
func (c *Client) ArchiveURL(ctx context.Context, path string) (string, error) {
	at, err := checkpointPath(path)
	if err != nil {
		return "", err
	}
	r := &request{method: http.MethodGet, path: at + "/archive", retries: retries, window: archiveWindow,
		redirect: true}
	resp, err := c.call(ctx, r)
	if err != nil {
		return "", err
	}
	if to := resp.header.Get("Location"); resp.status/100 == 3 {
		if _, err := url.Parse(to); err != nil || to == "" {
			return "", serverf("client: the archive of %s is at %q, which is no address", path, to)
		}
		return to, nil
	}
	out, err := object[wire.ArchiveURL](resp.body)
	if err != nil || out.URL == "" {
		return "", serverf("client: %s gives no address for the archive of %s", c.base, path)
	}
	return out.URL, nil
}

// ServerSessions lists session ids.
func (c *Client) ServerSessions(ctx context.Context, limit, offset int) ([]string, error) {
	var out wire.Sessions
	err := c.getJSON(ctx, fmt.Sprintf("/sessions?limit=%d&offset=%d&%s", limit, offset, owned), &out)
	return out.Sessions, err
}

// ServerSession lists what belongs to a session.
func (c *Client) ServerSession(ctx context.Context, id string) (out wire.Session, err error) {
	err = c.getJSON(ctx, "/sessions/"+escape(id)+"?"+owned, &out)
	return out, err
}

// WeightsInfo says what a checkpoint needs to be loaded.
func (c *Client) WeightsInfo(ctx context.Context, path string) (out wire.WeightsInfo, err error) {
	err = c.postJSON(ctx, "/weights_info", wire.WeightsInfoRequest{TinkerPath: path}, &out)
	return out, err
}

// checkpoint sends a request without a body to something of a checkpoint.
func (c *Client) checkpoint(ctx context.Context, method, path, of string) error {
	at, err := checkpointPath(path)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, &request{method: method, path: at + of, contentType: wire.JSON, window: window,
		retries: retries})
	return err
}

// checkpointPath is a checkpoint's place among the REST paths.
func checkpointPath(path string) (string, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return "", err
	}
	return "/training_runs/" + escape(p.ModelID) + "/checkpoints/" + string(p.Kind) + "/" + p.Name, nil
}

// escape keeps an id within its segment of a path. The colon of model ids stays as it is.
func escape(id string) string { return url.PathEscape(id) }
