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
	server := web.Server(web.Guard{}.Handler(h), web.Options{})
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(web.Listen(l, web.Connections{PerAddress: connections}))
	}()
	defer d.close()
	select {
	case <-stop:
	case <-ctx.Done():
	case err := <-served:
		return err
	}
	d.close()
	end, release := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer release()
	err := server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // answers that take longer are cut off
	}
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
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
