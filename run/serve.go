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
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Render implements proxy.Model.
func (m *baseModel) Render(messages []chat.Message, o chat.Options) (string, []int32, error) {
	if o.EnableThinking == nil {
		o.EnableThinking = m.thinking
	}
	text, err := m.template.Render(messages, o)
	if err != nil {
		return "", nil, err
	}
	return text, m.tokenizer.Encode(text, false), nil
}

// Style implements proxy.Model.
func (m *baseModel) Style() chat.CallStyle { return m.template.CallStyle() }

// serve answers programs that sample, for a trainer in another process.
func (l *loops) serve(ctx context.Context, b *job) error {
	err := l.following(ctx, func(ctx context.Context) error { return l.serveUntil(ctx, b, b.Stop, 1) })
	if err != nil {
		return err
	}
	return ErrInterrupted // it never comes to an end by itself
}

// serveAndTrain answers programs that sample, and trains on what they commit until the trainer has made its steps.
func (l *loops) serveAndTrain(ctx context.Context, b *job) error {
	g, gctx := errgroup.WithContext(ctx)
	finished := make(chan struct{})
	g.Go(func() error {
		err := l.serveUntil(gctx, b, either(gctx, finished, b.Stop), l.resumed.Position.Step)
		if l.between.table == nil { // a table is finished when all is well
			err = errors.Join(err, l.between.exchange.Finish(gctx))
		}
		return err
	})
	g.Go(func() error {
		defer close(finished)
		return l.training.trainer.Run(gctx, b.Stop)
	})
	err := g.Wait()
	if l.between.table != nil && (err == nil || errors.Is(err, trainer.ErrInterrupted)) {
		err = errors.Join(err, l.between.table.Finish(gctx))
	}
	return err
}

// serveUntil serves until stop is closed; steps from first on are handed on again if the exchange does not remember
// them.
func (l *loops) serveUntil(ctx context.Context, b *job, stop <-chan struct{}, first int) error {
	p, err := l.openProxy(ctx, b)
	if err != nil {
		return err
	}
	if step, kept := l.between.exchange.Explored(); kept {
		first = step + 1
	}
	if err := p.Replay(ctx, first); err != nil {
		return err
	}
	listener, err := listen(b)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := p.Serve(gctx, listener, stop)
		cancel(cmp.Or(err, errServed)) // which ends Follow
		return err
	})
	g.Go(func() error { return p.Follow(gctx, l.travel.sync, b.service, l.usedVersion(b)) })
	if err := g.Wait(); err != nil && !errors.Is(err, errServed) {
		return err
	}
	return nil
}

var errServed = errors.New("run: served")

// usedVersion tells a trainer in another process which version is sampled from; nil where there is none.
func (l *loops) usedVersion(b *job) func(version int) error {
	if b.cfg.Mode != config.Serve {
		return nil
	}
	return func(version int) error {
		return l.travel.folder.WriteExplorer(b.cfg.Explorer.Name, synchronizer.ExplorerStatus{Version: version})
	}
}

// listen opens the address to serve at, and notes it in the job directory.
func listen(b *job) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(b.cfg.Explorer.ListenAddress, strconv.Itoa(b.cfg.Explorer.ProxyPort)))
	if err != nil {
		return nil, fmt.Errorf("run: explorer.listen_address and explorer.proxy_port: %w", err)
	}
	url := "http://" + l.Addr().String()
	if err := disk.WriteFile(b.fs, b.folder().File(b.cfg.Explorer.Name+"_server_url.txt"), []byte(url)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	fmt.Fprintf(b.Out, "serving  %s/v1 (OpenAI's API; then POST /feedback and /commit)\n", url)
	return l, nil
}

// openProxy makes the proxy over the history that explorer.db_url names.
func (l *loops) openProxy(ctx context.Context, b *job) (*proxy.Server, error) {
	if b.model.template == nil {
		return nil, errors.New("run: serve mode speaks of messages, and the model has no chat template; give one " +
			"with model.chat_template_path")
	}
	url := b.cfg.Explorer.DBURL
	if url == "" {
		url = "sqlite:///" + b.folder().File("buffer", "proxy_history.db")
	}
	history, err := buffer.OpenHistory(ctx, url, b.fs)
	if err != nil {
		return nil, err
	}
	b.opened(history.Close)
	served, err := l.openServed(b)
	if err != nil {
		return nil, err
	}
	return proxy.New(ctx, proxy.Options{Name: b.model.name, Model: b.model, Params: servedParams(b), Now: b.Now,
		History: history,
		Log:     b.progress.Warn, Context: b.mostTokens(), Commit: served.Commit})
}

// openServed makes what scores the experiences of programs that sample for themselves.
func (l *loops) openServed(b *job) (*record.Served, error) {
	operators, err := pipelineOf(b.cfg, b.Plugins)
	if err != nil {
		return nil, err
	}
	var lines record.Lines = l.training.events
	if b.aside() {
		lines = record.OwnLines{}
	}
	return &record.Served{
		Scorer: explorer.New(explorer.Options{Seed: b.identity.Seed, Pipeline: operators, Advantage: b.method.Advantage,
			AdvantageName: b.cfg.Algorithm.AdvantageFn, Warn: b.progress.Warn},
			b.service, l.travel.sync, nil, nil, explorer.Taskset{}, nil),
		Sink: &record.Explored{Rollouts: buffer.Rollouts{FS: b.fs, Dir: b.folder().File("rollouts")},
			Monitor:  l.monitor,
			Progress: b.progress, To: l.between.exchange, Lines: lines, Aside: b.aside()},
	}, nil
}

// servedParams are the sampling parameters that a request leaves open.
func servedParams(b *job) tinker.SamplingParams {
	p := tinker.DefaultSampling()
	m := b.cfg.Explorer.RolloutModel
	p.Temperature, p.TopP, p.TopK = b.cfg.Model.Temperature, *m.TopP, *m.TopK
	if n := b.cfg.Model.MaxResponseTokens; n != nil {
		p.MaxTokens = *n
	}
	p.StopTokens = b.model.stops
	return p
}
