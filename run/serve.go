package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
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
func (b *job) serve(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	follow, stop := context.WithCancel(ctx)
	if b.table != nil {
		g.Go(func() error { return b.folder.Follow(follow, b.sync, b.table.table.Total) })
	}
	g.Go(func() error {
		defer stop()
		return b.serveUntil(ctx, b.Stop, 1)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return ErrInterrupted // it never comes to an end by itself
}

// serveAndTrain answers programs that sample, and trains on what they commit until the trainer has made its steps.
func (b *job) serveAndTrain(ctx context.Context) error {
	state, err := b.readState()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	finished := make(chan struct{})
	g.Go(func() error {
		defer b.outlet.finish(ctx) // a queue, which closes without an error
		return b.serveUntil(ctx, either(ctx, finished, b.Stop), state.Position.Step)
	})
	g.Go(func() error {
		defer close(finished)
		return b.trainer.Run(ctx, b.Stop)
	})
	err = g.Wait()
	if err == nil || errors.Is(err, trainer.ErrInterrupted) {
		err = errors.Join(err, b.table.finishIf(ctx))
	}
	return err
}

func (s *sqlFeed) finishIf(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.finish(ctx)
}

// serveUntil serves until stop is closed; steps from first on are handed on again if the outlet does not remember them.
func (b *job) serveUntil(ctx context.Context, stop <-chan struct{}, first int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := b.openProxy(ctx)
	if err != nil {
		return err
	}
	if k, ok := b.outlet.(keeper); ok {
		first = k.explored() + 1
	}
	if err := p.Replay(ctx, first); err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(b.cfg.Explorer.ListenAddress, strconv.Itoa(b.cfg.Explorer.ProxyPort)))
	if err != nil {
		return fmt.Errorf("run: explorer.listen_address and explorer.proxy_port: %w", err)
	}
	url := "http://" + l.Addr().String()
	if err := disk.WriteFile(b.fs, filepath.Join(b.dir, b.cfg.Explorer.Name+"_server_url.txt"), []byte(url)); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(b.Out, "serving  %s/v1 (OpenAI's API; then POST /feedback and /commit)\n", url)
	server := web.Server(p.Handler(), web.Options{})
	l = web.Listen(l, web.Connections{PerAddress: connections})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error { return b.refresh(gctx, p) })
	g.Go(func() error {
		select {
		case <-stop:
		case <-gctx.Done():
		}
		end, release := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer release()
		err := server.Shutdown(end) // answers under way are finished
		cancel(errServed)
		return err
	})
	if err := g.Wait(); err != nil && !errors.Is(err, errServed) {
		return err
	}
	return nil
}

// connections bounds those of one address: programs that sample open many.
const connections = 4096

var errServed = errors.New("run: served")

// refresh gives the proxy each version of the weights as it comes.
func (b *job) refresh(ctx context.Context, p *proxy.Server) error {
	current := -1
	for {
		version, path, err := b.sync.Newer(ctx, current)
		if err != nil {
			return err
		}
		req := tinker.SamplingClientRequest{ModelPath: path}
		if path == "" {
			req.BaseModel = b.model.name
		}
		sampler, err := b.service.SamplingClient(ctx, req)
		if errors.Is(err, tinker.ErrNotFound) && b.sync.Newest() > version {
			continue // it was replaced meanwhile
		}
		if err != nil {
			return fmt.Errorf("run: weights version %d: %w", version, err)
		}
		p.Use(version, sampler)
		current = version
		if b.cfg.Mode == config.Serve {
			if err := b.folder.WriteExplorer(b.cfg.Explorer.Name, synchronizer.ExplorerStatus{Version: version}); err != nil {
				return err
			}
		}
	}
}

// openProxy makes the proxy over the history that explorer.db_url names.
func (b *job) openProxy(ctx context.Context) (*proxy.Server, error) {
	if b.model.template == nil {
		return nil, errors.New("run: serve mode speaks of messages, and the model has no chat template; give one with model.chat_template_path")
	}
	url := b.cfg.Explorer.DBURL
	if url == "" {
		url = "sqlite:///" + filepath.Join(b.dir, "buffer", "proxy_history.db")
	}
	if path, ok := strings.CutPrefix(url, "sqlite:///"); ok {
		if err := b.fs.MkdirAll(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
	}
	history, err := buffer.OpenHistory(ctx, url, b.fs)
	if err != nil {
		return nil, err
	}
	b.opened(history.Close)
	operators, err := b.operators()
	if err != nil {
		return nil, err
	}
	scorer := explorer.New(explorer.Options{Seed: b.identity.Seed, Pipeline: operators, Advantage: b.method.Advantage,
		AdvantageName: b.cfg.Algorithm.AdvantageFn, Warn: b.progress.warn}, b.service, b.sync, nil, nil, explorer.Taskset{}, nil)
	o := proxy.Options{Name: b.model.name, Model: b.model, Params: b.served(), Now: b.Now, History: history,
		Log: b.progress.warn, Context: b.mostTokens(),
		Commit: func(ctx context.Context, step int, list []*experience.Experience) (map[string]float64, error) {
			return b.commitServed(ctx, scorer, step, list)
		}}
	return proxy.New(ctx, o)
}

// served are the sampling parameters that a request leaves open.
func (b *job) served() tinker.SamplingParams {
	p := tinker.DefaultSampling()
	m := b.cfg.Explorer.RolloutModel
	p.Temperature, p.TopP, p.TopK = b.cfg.Model.Temperature, *m.TopP, *m.TopK
	if n := b.cfg.Model.MaxResponseTokens; n != nil {
		p.MaxTokens = *n
	}
	p.StopTokens = b.model.stops
	return p
}

// commitServed scores the experiences of a step and hands them on.
func (b *job) commitServed(ctx context.Context, scorer *explorer.Explorer, step int, list []*experience.Experience) (map[string]float64, error) {
	metrics := map[string]float64{}
	sum, anew := 0.0, 0.0
	for _, e := range list {
		sum += e.RewardOr(0)
		anew += e.Metrics[workflow.NewSequences]
	}
	if anew > 0 {
		metrics["rollout/new_sequences/mean"] = anew / float64(len(list))
	}
	metrics["rollout/reward/mean"], metrics["rollout/experience_count"] = sum/float64(max(1, len(list))), float64(len(list))
	list, err := scorer.Score(step, list, metrics)
	if err != nil {
		return nil, err
	}
	rec := &recorder{job: b}
	return metrics, rec.Explored(ctx, step, metrics, list)
}
