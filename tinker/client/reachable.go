package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// probeTimeout limits the wait for an answer.
const probeTimeout = 3 * time.Second

// Reachable makes one short attempt to reach the server, without repeats. Any answer of the server is a success, even
// a refusal. The answer of a gateway that cannot reach it is an error.
func (c *Client) Reachable(ctx context.Context) error {
	r := &apiRequest{method: http.MethodGet, path: "/healthz", timeout: probeTimeout, anonymous: true}
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
