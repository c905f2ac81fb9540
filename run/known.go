package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// publishKnown tells the synchronizer of weights that an earlier process published. On a service that keeps no models the run goes on with
// another model, of the state of step saved. Some such services sample from weights only while the model that saved them is loaded, so the
// new model publishes those of step saved again: they are the same. Older weights cannot be made again; if they can no longer be
// sampled from, the new model's take their place.
func (b *job) publishKnown(ctx context.Context, n samplerNote, saved int) error {
	if b.durable() || b.steps > 0 && saved >= b.steps {
		b.sync.Publish(n.version, n.path)
		return nil
	}
	if n.version == saved && b.explorer != nil { // else others may be sampling from it
		b.publishAgain(n)
		return nil
	}
	there, err := b.canSample(ctx, n.path)
	switch {
	case err != nil:
		return fmt.Errorf("run: weights of step %d: %w", n.version, err)
	case there:
		b.sync.Publish(n.version, n.path)
		return nil
	case n.version < saved:
		b.progress.warn(fmt.Sprintf("the server no longer has the weights of step %d; those of step %d are sampled from in their place", n.version, saved))
	}
	b.publishAgain(n)
	return nil
}

// publishAgain lets the trainer publish a version with the weights that it begins with.
func (b *job) publishAgain(n samplerNote) {
	if b.replaced == nil {
		b.replaced = map[int]string{}
	}
	b.republish = append(b.republish, n.version)
	b.replaced[n.version] = n.path
}

// dropReplaced deletes weights that were published again under another path.
func (b *job) dropReplaced(ctx context.Context, version int, path string) error {
	old := b.replaced[version]
	if old == "" || old == path {
		return nil
	}
	delete(b.replaced, version)
	if err := b.service.DeleteCheckpoint(ctx, old); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("run: sampler weights that were published again: %w", err)
	}
	return nil
}

// canSample draws one token from saved weights, to see whether the service still can.
func (b *job) canSample(ctx context.Context, path string) (bool, error) {
	c, err := b.service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: path})
	if err == nil {
		err = oneToken(ctx, c)
	}
	if errors.Is(err, tinker.ErrLost) || errors.Is(err, tinker.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func oneToken(ctx context.Context, c tinker.SamplingClient) error {
	params := tinker.DefaultSampling()
	params.MaxTokens = 1
	f, err := c.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text([]int32{0}), NumSamples: 1, Params: params})
	if err != nil {
		return err
	}
	_, err = f.Wait(ctx)
	return err
}
