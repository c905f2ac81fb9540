package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// openRollouts opens what serves the rollouts of rollout_workflow, if there are any or the caller gives an address for
// them. The serve modes have rollouts of their own. served says that this is at the address of the configuration too.
func openRollouts(j *job.Job) (o *proxy.Offers, served bool, err error) {
	work, theirs := j.Config.OffersRollouts(), len(j.Own.Workflows) > 0 || j.Config.StartsPrograms()
	switch {
	case j.Rollouts != "" && j.Config.Mode == config.Train && !j.Staged:
		return nil, false, errors.New("run: --rollouts serves rollouts while a run explores, and mode train does " +
			"not; start it with the process that explores")
	case !j.Config.Mode.Explores() || j.External != nil || !work && !theirs && j.Rollouts == "":
		return nil, false, nil
	case j.Model.Template == nil:
		return nil, false, nil
	}
	text, err := j.Model.Text()
	if err != nil {
		return nil, false, err
	}
	o = proxy.NewOffers(proxy.OfferOptions{Name: j.Model.Name, Text: text, Now: j.Now,
		Log: foreign.Limit(j.Progress.Warn), Work: work})
	j.Opened(o.Close)
	j.RolloutServer, j.URL = o, o.URL
	return o, work || j.Rollouts != "", nil
}

// serving does work while programs can carry rollouts out, if there are any.
func (l *loops) serving(ctx context.Context, work func(context.Context) error) error {
	if l.rollouts == nil || !l.served {
		return work(ctx)
	}
	listener, err := listen(l.Job)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.Out, "rollouts http://%s (POST /rollouts/next hands them out)\n", listener.Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, served := make(chan struct{}), make(chan error, 1)
	go func() {
		err := l.rollouts.Serve(ctx, listener, stop)
		if err != nil {
			cancel(err)
		}
		served <- err
	}()
	err = work(ctx)
	close(stop)
	return errors.Join(err, <-served)
}
