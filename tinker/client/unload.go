package client

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

var _ tinker.Unloader = (*Client)(nil)

// UnloadModel implements tinker.Unloader.
func (c *Client) UnloadModel(ctx context.Context, modelID string) (*tinker.Future[tinker.UnloadOutput], error) {
	r, err := post("/unload_model", wire.GetInfoRequest{ModelID: modelID, Type: "unload_model"})
	if err != nil {
		return nil, err
	}
	ctx, done := c.within(ctx)
	defer done()
	p, err := c.promised(ctx, r, "UnloadModel", false)
	if err != nil {
		return nil, err
	}
	return future(c, p, object[tinker.UnloadOutput]), nil
}
