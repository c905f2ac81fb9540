package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// serve answers programs that sample, for a trainer in another process.
func (l *loops) serve(ctx context.Context) error {
	err := l.following(ctx, func(ctx context.Context) error { return l.serveUntil(ctx, l.site.Stop, 1) })
	if err != nil {
		return err
	}
	return ErrInterrupted // it never comes to an end by itself
}

// serveAndTrain answers programs that sample, and trains on what they commit until the trainer has made its steps.
func (l *loops) serveAndTrain(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	finished := make(chan struct{})
	g.Go(func() error {
		err := l.serveUntil(gctx, either(gctx, finished, l.site.Stop), l.resumed.Position.Step)
		if l.between.table == nil { // a table is finished when all is well
			err = errors.Join(err, l.between.exchange.Finish(gctx))
		}
		return err
	})
	g.Go(func() error {
		defer close(finished)
		return l.training.trainer.Run(gctx, l.site.Stop)
	})
	err := g.Wait()
	if l.between.table != nil && (err == nil || errors.Is(err, trainer.ErrInterrupted)) {
		err = errors.Join(err, l.between.table.Finish(gctx))
	}
	return err
}

// serveUntil serves until stop is closed; steps from first on are handed on again if the exchange does not remember
// them.
func (l *loops) serveUntil(ctx context.Context, stop <-chan struct{}, first int) error {
	p, err := l.openProxy(ctx)
	if err != nil {
		return err
	}
	if step, kept := l.between.exchange.Explored(); kept {
		first = step + 1
	}
	if err := p.Replay(ctx, first); err != nil {
		return err
	}
	listener, err := listen(l.parts)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.site.Out, "serving  http://%s/v1 (OpenAI's API; then POST /feedback and /commit)\n", listener.Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := p.Serve(gctx, listener, stop)
		cancel(cmp.Or(err, errServed)) // which ends Follow
		return err
	})
	g.Go(func() error { return p.Follow(gctx, l.travel.sync, l.models.service.API, l.usedVersion()) })
	if err := g.Wait(); err != nil && !errors.Is(err, errServed) {
		return err
	}
	return nil
}

var errServed = errors.New("run: served")

// usedVersion tells a trainer in another process which version is sampled from; nil where there is none.
func (l *loops) usedVersion() func(version int) error {
	if l.cfg.Mode != config.Serve {
		return nil
	}
	return func(version int) error {
		return l.travel.folder.WriteExplorer(l.cfg.Explorer.Name, synchronizer.ExplorerStatus{Version: version})
	}
}

// listen opens the address to serve at, and notes it in the job directory.
func listen(p parts) (net.Listener, error) {
	address, key := p.site.Rollouts, "--rollouts"
	if address == "" {
		address = net.JoinHostPort(p.cfg.Explorer.ListenAddress, strconv.Itoa(p.cfg.Explorer.ProxyPort))
		key = "explorer.listen_address and explorer.proxy_port"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("run: %s: %w", key, err)
	}
	url := "http://" + l.Addr().String()
	if err := disk.WriteFile(p.site.FS, p.folder.File(p.cfg.Explorer.Name+"_server_url.txt"), []byte(url)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// openProxy makes the proxy over the history that explorer.db_url names.
func (l *loops) openProxy(ctx context.Context) (*proxy.Server, error) {
	if l.models.base.Template == nil {
		return nil, errors.New("run: serve mode renders messages, and the model has no chat template; give one " +
			"with model.chat_template_path")
	}
	text, err := l.models.base.Text()
	if err != nil {
		return nil, err
	}
	url := l.cfg.Explorer.DBURL
	if url == "" {
		url = "sqlite:///" + l.folder.File("buffer", "proxy_history.db")
	}
	history, err := buffer.OpenHistory(ctx, url, l.site.FS)
	if err != nil {
		return nil, err
	}
	l.opened(history.Close)
	served, err := l.openServed()
	if err != nil {
		return nil, err
	}
	return proxy.New(ctx, proxy.Options{Name: l.models.base.Name, Text: text, Params: servedParams(l.parts),
		Now:     l.site.Now,
		History: history, Context: plan.MaxTokens(l.cfg, l.models.context),
		Log: foreign.Limit(l.say.progress.Warn), Commit: served.Commit})
}

// openServed makes what scores the experiences of programs that sample for themselves.
func (l *loops) openServed() (*record.Served, error) {
	operators, err := plan.Operators(l.cfg, l.site.Own.Operators)
	if err != nil {
		return nil, err
	}
	var lines record.Lines = l.training.events
	if l.aside() {
		lines = record.OwnLines{}
	}
	return &record.Served{
		Scorer: explorer.New(explorer.Options{Seed: l.id.Seed, Pipeline: operators, Advantage: l.method.Advantage,
			AdvantageName: l.cfg.Algorithm.AdvantageFn, Warn: l.say.progress.Warn},
			l.models.service.API, l.travel.sync, nil, nil, explorer.Taskset{}, nil),
		Sink: &record.Explored{Rollouts: buffer.Rollouts{FS: l.site.FS, Dir: l.folder.File("rollouts"),
			Tokenizer: l.models.base.Tokenizer},
			Monitor:  l.monitor,
			Progress: l.say.progress, To: l.between.exchange, Lines: lines, Aside: l.aside()},
	}, nil
}

// servedParams are the sampling parameters that a request leaves open.
func servedParams(p parts) tinker.SamplingParams {
	params := tinker.DefaultSampling()
	m := p.cfg.Explorer.RolloutModel
	params.Temperature, params.TopP, params.TopK = p.cfg.Model.Temperature, *m.TopP, *m.TopK
	if n := p.cfg.Model.MaxResponseTokens; n != nil {
		params.MaxTokens = *n
	}
	params.StopTokens = p.models.base.Stops
	return params
}
