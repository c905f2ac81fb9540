package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// openOffers makes what serves the rollouts of rollout_workflow, if there are any or the caller gives an address for
// them. The serve modes have rollouts of their own.
func (p *parts) openOffers() error {
	work, theirs := p.cfg.OffersRollouts(), len(p.site.Own.Workflows) > 0 || p.cfg.StartsPrograms()
	switch {
	case p.site.Rollouts != "" && p.cfg.Mode == config.Train && !p.staged:
		return errors.New("run: --rollouts serves rollouts while a run explores, and mode train does not; start it " +
			"with the process that explores")
	case !p.cfg.Mode.Explores() || p.models.external != nil || !work && !theirs && p.site.Rollouts == "":
		return nil
	case p.models.base.Template == nil:
		return nil
	}
	text, err := p.models.base.Text()
	if err != nil {
		return err
	}
	p.offers = proxy.NewOffers(proxy.OfferOptions{Name: p.models.base.Name, Text: text, Now: p.site.Now,
		Log: foreign.Limit(p.say.progress.Warn), Work: work})
	p.listens = work || p.site.Rollouts != ""
	p.opened(p.offers.Close)
	p.url = p.offers.URL
	return nil
}

// rollouts is where workflows open rollouts; nil: nowhere.
func (p parts) rollouts() workflow.Rollouts {
	if p.offers == nil {
		return nil
	}
	return p.offers
}

// offering does work while programs can carry rollouts out, if there are any.
func (l *loops) offering(ctx context.Context, work func(context.Context) error) error {
	if l.offers == nil || !l.listens {
		return work(ctx)
	}
	listener, err := listen(l.parts)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.site.Out, "rollouts http://%s (POST /rollouts/next hands them out)\n", listener.Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, served := make(chan struct{}), make(chan error, 1)
	go func() {
		err := l.offers.Serve(ctx, listener, stop)
		if err != nil {
			cancel(err)
		}
		served <- err
	}()
	err = work(ctx)
	close(stop)
	return errors.Join(err, <-served)
}
