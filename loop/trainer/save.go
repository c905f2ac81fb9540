package trainer

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sendWeights asks for the weights of a step to be saved for samplers.
func (t *Trainer) sendWeights(ctx context.Context, step int, seq *int64) (*tinker.Future[tinker.SaveOutput], error) {
	return t.sendSave(ctx, Sampler, step, seq, t.client.SaveWeightsForSampler)
}

// saver is one of a training client's ways to save.
type saver func(context.Context, tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error)

// sendSave asks for a checkpoint, with the next SeqID. Where an earlier try has spent that, it may have left the
// checkpoint too.
func (t *Trainer) sendSave(ctx context.Context, k Kind, step int, seq *int64, send saver) (
	*tinker.Future[tinker.SaveOutput], error) {
	req, first := t.Notes.Request(k, step), *seq
	return tinker.Numbered(seq, func(n int64) (*tinker.Future[tinker.SaveOutput], error) {
		req.SeqID, req.Overwrite = n, req.Overwrite || n > first
		return send(ctx, req)
	})
}

// saveNow asks for a checkpoint, waits for it and notes its path.
func (t *Trainer) saveNow(ctx context.Context, k Kind, step int, seq *int64, send saver) error {
	f, err := t.sendSave(ctx, k, step, seq, send)
	if err != nil {
		return err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return err
	}
	return t.Notes.Note(k, step, out.Path)
}

// sendPublished asks for the weights of a step if they are to be published; nil if not.
func (t *Trainer) sendPublished(
	ctx context.Context, step int, seq *int64,
) (*tinker.Future[tinker.SaveOutput], error) {
	if t.Publisher == nil {
		return nil, nil
	}
	publishes, err := t.Publisher.Publishes(ctx, step)
	if err != nil || !publishes {
		return nil, err
	}
	return t.sendWeights(ctx, step, seq)
}

// publish waits for the weights of a step and tells where they are.
func (t *Trainer) publish(ctx context.Context, step int, f *tinker.Future[tinker.SaveOutput]) error {
	out, err := f.Wait(ctx)
	if err != nil {
		return err
	}
	if err := t.Notes.Note(Sampler, step, out.Path); err != nil {
		return err
	}
	return t.events.Published(ctx, step, out.Path)
}

// publishLast publishes the weights of the last committed step, if that step was not to.
func (t *Trainer) publishLast(ctx context.Context) error {
	if t.Publisher == nil || t.state.Step == 0 {
		return nil
	}
	if _, err := t.Notes.Path(Sampler, t.state.Step); err == nil {
		return nil
	}
	seq := t.state.NextSeqID
	f, err := t.sendWeights(ctx, t.state.Step, &seq)
	if err == nil {
		err = t.publish(ctx, t.state.Step, f)
	}
	if err != nil {
		return err
	}
	t.state.NextSeqID = seq
	return t.writeState()
}

// synchronize publishes the weights of a step, and notes how long that took and how long it was since the time before.
func (t *Trainer) synchronize(
	ctx context.Context, step int, f *tinker.Future[tinker.SaveOutput], metrics map[string]float64,
) error {
	begin := time.Now()
	if !t.synced.IsZero() {
		metrics["time/trainer_sync_interval"] = begin.Sub(t.synced).Seconds()
	}
	if err := t.publish(ctx, step, f); err != nil {
		return err
	}
	t.synced = time.Now()
	metrics["time/sync_weight"] = t.synced.Sub(begin).Seconds()
	return nil
}

// saveState saves weights and optimizer, the critic's too.
func (t *Trainer) saveState(ctx context.Context, k Kind, step int, seq *int64) error {
	if t.critic != nil {
		err := t.saveNow(ctx, Critic, step, &t.critic.seq, t.critic.client.SaveState)
		if err != nil {
			return fmt.Errorf("critic: %w", err)
		}
	}
	return t.saveNow(ctx, k, step, seq, t.client.SaveState)
}

// save saves the state of the last committed step, if that was not done. Its SeqID is committed first, so that a
// restart in between asks for the same again.
func (t *Trainer) save(ctx context.Context) error {
	if t.state.Step == 0 || t.state.Saved == t.state.Step {
		return nil
	}
	if t.state.Saving == 0 {
		t.state.Saving = t.state.NextSeqID
		t.state.NextSeqID++
		if t.critic != nil {
			t.state.Critic.Saving = t.state.Critic.NextSeqID
			t.state.Critic.NextSeqID++
		}
		if err := t.writeState(); err != nil {
			return err
		}
	}
	seq := t.state.Saving
	if t.critic != nil {
		t.critic.seq = t.state.Critic.Saving
	}
	err := t.saveState(ctx, FinalState, t.state.Step, &seq)
	if err == nil && t.FinalSampler {
		err = t.saveNow(ctx, FinalSampler, t.state.Step, &seq, t.client.SaveWeightsForSampler)
	}
	if err != nil {
		return fmt.Errorf("trainer: save step %d: %w", t.state.Step, err)
	}
	t.state.NextSeqID = max(t.state.NextSeqID, seq)
	t.state.Saved, t.state.SavedPosition, t.state.SavedKLCoefs, t.state.Saving, t.state.Critic.Saving = t.state.Step,
		t.state.Position, t.state.KLCoefs, 0, 0
	return t.writeState()
}
