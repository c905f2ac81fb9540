package tool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sse is the SDK's transport, whose events come as the body of one GET. The SDK makes that GET with the context of
// Connect, so a context with a time limit would end the session with the limit. Here the context bounds Connect alone;
// the end of the session closes the body.
type sse struct{ *mcp.SSEClientTransport }

// Connect implements mcp.Transport.
func (t sse) Connect(ctx context.Context) (mcp.Connection, error) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	defer stop()
	c, err := t.SSEClientTransport.Connect(lasting)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // rather than lasting's
	}
	return c, err
}
