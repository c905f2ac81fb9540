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
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// serve answers programs that sample, for a trainer in another process.
func (l *loops) serve(ctx context.Context) error {
	err := l.following(ctx, func(ctx context.Context) error { return l.serveUntil(ctx, l.Stopping(), 1) })
	if err != nil {
		return err
	}
	return ErrInterrupted // it ends only when it is stopped
}

// serveAndTrain answers programs that sample, and trains on what they commit until the trainer has made its steps.
func (l *loops) serveAndTrain(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	wanted, finish := context.WithCancel(l.Stopping())
	g.Go(func() error {
		err := l.serveUntil(gctx, wanted, l.resumed.Position.Step)
		if l.table == nil { // a table is finished when all is well
			err = errors.Join(err, l.exchange.Finish(gctx))
		}
		return err
	})
	g.Go(func() error {
		defer finish()
		return l.training.trainer.Run(gctx, l.Stopping())
	})
	err := g.Wait()
	if l.table != nil && (err == nil || errors.Is(err, trainer.ErrInterrupted)) {
		err = errors.Join(err, l.table.Finish(gctx))
	}
	return err
}

// serveUntil serves until stop ends; steps from first on are handed on again if the exchange does not remember
// them.
func (l *loops) serveUntil(ctx, stop context.Context, first int) error {
	p, err := l.openProxy(ctx)
	if err != nil {
		return err
	}
	if step, kept := l.exchange.Explored(); kept {
		first = step + 1
	}
	if err := p.Replay(ctx, first); err != nil {
		return err
	}
	listener, err := listen(l.Job)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.Out, "serving  http://%s/v1 (OpenAI's API; then POST /feedback and /commit)\n", listener.Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := p.Serve(gctx, listener, stop.Done())
		cancel(cmp.Or(err, errServed)) // which ends Follow
		return err
	})
	g.Go(func() error { return p.Follow(gctx, l.sync, l.API, l.usedVersion()) })
	if err := g.Wait(); err != nil && !errors.Is(err, errServed) {
		return err
	}
	return nil
}

var errServed = errors.New("run: served")

// usedVersion tells a trainer in another process which version is sampled from; nil where there is none.
func (l *loops) usedVersion() func(version int) error {
	if l.Config.Mode != config.Serve {
		return nil
	}
	return func(version int) error {
		return l.shared.WriteExplorer(l.Config.Explorer.Name, synchronizer.ExplorerStatus{Version: version})
	}
}

// listen opens the address to serve at, and notes it in the job directory.
func listen(j *job.Job) (net.Listener, error) {
	address, key := j.Rollouts, "--rollouts"
	if address == "" {
		address = net.JoinHostPort(j.Config.Explorer.ListenAddress, strconv.Itoa(j.Config.Explorer.ProxyPort))
		key = "explorer.listen_address and explorer.proxy_port"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("run: %s: %w", key, err)
	}
	url := "http://" + l.Addr().String()
	if err := disk.WriteFile(j.FS, j.Dir.File(j.Config.Explorer.Name+"_server_url.txt"), []byte(url)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// openProxy makes the proxy over the history that explorer.db_url names.
func (l *loops) openProxy(ctx context.Context) (*proxy.Server, error) {
	if l.Model.Template == nil {
		return nil, errors.New("run: serve mode renders messages, and the model has no chat template; give one " +
			"with model.chat_template_path")
	}
	text, err := l.Model.Text()
	if err != nil {
		return nil, err
	}
	url := l.Config.Explorer.DBURL
	if url == "" {
		url = "sqlite:///" + l.Dir.File("buffer", "proxy_history.db")
	}
	history, err := buffer.OpenHistory(ctx, url, l.FS)
	if err != nil {
		return nil, err
	}
	l.Opened(history.Close)
	served, err := l.openServed()
	if err != nil {
		return nil, err
	}
	return proxy.New(ctx, proxy.Options{Name: l.Model.Name, Text: text, Params: servedParams(l.Job),
		Now:     l.Now,
		History: history, Context: plan.MaxTokens(l.Config, l.Context),
		Log: foreign.Limit(l.Progress.Warn), Commit: served.Commit})
}

// openServed makes what scores the experiences of programs that sample for themselves.
func (l *loops) openServed() (*record.Served, error) {
	operators, err := plan.Operators(l.Config, l.Operators)
	if err != nil {
		return nil, err
	}
	var lines record.Lines = l.training.events
	if l.Beside() {
		lines = record.OwnLines{}
	}
	return &record.Served{
		Scorer: explorer.New(explorer.Options{Seed: l.ID.Seed, Pipeline: operators, Advantage: l.Method.Advantage,
			AdvantageName: l.Config.Algorithm.AdvantageFn, Warn: l.Progress.Warn},
			l.API, l.sync, nil, nil, explorer.Taskset{}, nil),
		Sink: &record.Explored{Rollouts: rolloutsOf(l.Job), Monitor: l.monitor,
			Progress: l.Progress, To: l.exchange, Lines: lines, Aside: l.Beside()},
	}, nil
}

// servedParams are the sampling parameters that a request leaves open.
func servedParams(j *job.Job) tinker.SamplingParams {
	params := tinker.DefaultSampling()
	m := j.Config.Explorer.RolloutModel
	params.Temperature, params.TopP, params.TopK = j.Config.Model.Temperature, *m.TopP, *m.TopK
	if n := j.Config.Model.MaxResponseTokens; n != nil {
		params.MaxTokens = *n
	}
	params.StopTokens = j.Model.Stops
	return params
}
