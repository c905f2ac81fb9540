package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// probeTimeout bounds the wait for a sign of life.
const probeTimeout = 3 * time.Second

// Reachable makes one short attempt to hear of the server, without repeats. Any answer of its own will do, a refusal
// too; one of a gateway that cannot reach it is an error.
func (c *Client) Reachable(ctx context.Context) error {
	r := &request{method: http.MethodGet, path: "/healthz", timeout: probeTimeout, anonymous: true}
	resp, err := c.once(ctx, r, 0)
	if err != nil {
		return err
	}
	switch resp.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &connError{fmt.Errorf("%d %s", resp.status, http.StatusText(resp.status))}
	}
	return nil
}
