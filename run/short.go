package run

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// sayShort says why a run that is done trained fewer steps than were planned.
func (b *job) sayShort() {
	if b.trainer == nil || b.trainer.Step() > 0 && b.trainer.Step() >= b.steps {
		return
	}
	what := fmt.Sprintf("ended behind step %d of %d", b.trainer.Step(), b.steps)
	if b.steps == 0 {
		what = "ended, and no step was trained"
	}
	fmt.Fprintf(b.Out, "short    %s: %s\n", what, b.shortOf())
}

// shortOf is what there was too little of.
func (b *job) shortOf() string {
	n := b.sampled()
	if b.source == nil {
		return fmt.Sprintf("the data has no more batches of %d (buffer.train_batch_size)", b.cfg.Buffer.TrainBatchSize)
	}
	text := fmt.Sprintf("the tasks are done, and fewer than the %d samples of a batch are left", n)
	if q, ok := b.source.feed.(*queueFeed); ok && b.cfg.Mode != config.ServeTrain {
		text = fmt.Sprintf("the tasks are done, and %d samples are left of the %d of a batch", q.queue.Len(), n)
	}
	if b.source.expert != nil {
		text += ", or the expert's data is used up"
	}
	if b.source.stale > 0 {
		text += fmt.Sprintf("; %d were older than algorithm.sample_strategy_args.max_staleness allows", b.source.stale)
	}
	return text
}
