package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// connections bounds the connections of one address: programs that sample open many.
const connections = 4096

// endTimeout bounds the wait for answers under way at the end.
const endTimeout = 10 * time.Second

// Serve answers on l until stop is closed or ctx ends; answers under way have some time to be finished. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener, stop <-chan struct{}) error {
	return s.handler.serve(ctx, s.Handler(), l, stop)
}

func (d *handler) serve(ctx context.Context, h http.Handler, l net.Listener, stop <-chan struct{}) error {
	e := web.Edge{Guard: &web.Guard{}, Connections: web.Connections{PerAddress: connections}, End: endTimeout,
		Ending: d.close}
	return e.Serve(ctx, stop, l, h)
}

// Follow gives the server each version of the weights as it comes, until ctx ends. Version 0 without a path is the
// base model. used, if it is not nil, hears which version is sampled from.
func (s *Server) Follow(
	ctx context.Context, weights *synchronizer.Synchronizer, service tinker.Service, used func(version int) error,
) error {
	current := -1
	for {
		version, path, err := weights.Newer(ctx, current)
		if err != nil {
			return err
		}
		req := tinker.SamplingClientRequest{ModelPath: path}
		if path == "" {
			req.BaseModel = s.Name
		}
		sampler, err := service.SamplingClient(ctx, req)
		if errors.Is(err, tinker.ErrNotFound) && weights.Newest() > version {
			continue // it was replaced meanwhile
		}
		if err != nil {
			return fmt.Errorf("proxy: weights version %d: %w", version, err)
		}
		s.Use(version, sampler)
		current = version
		if used == nil {
			continue
		}
		if err := used(version); err != nil {
			return err
		}
	}
}
