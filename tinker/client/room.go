package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// withRoom creates a model. While the server is full, it unloads the models of earlier processes one after another.
// The model of the state that will be loaded comes last; on TuFT it is never unloaded, since that deletes its
// checkpoints.
func (c *Client) withRoom(ctx context.Context, from string, create func() error) error {
	spare := c.spare(from)
	for {
		err := create()
		if err == nil || !full.MatchString(err.Error()) {
			return err
		}
		if len(spare) == 0 {
			return fmt.Errorf("%w; %s has no room for another adapter, and no model of this job is left to unload: "+
				"wait until idle sessions end (SkyRL ends them after 300 s), "+
				"end other runs, or start the server with more adapters (SkyRL: max_lora_adapters, one of which is "+
				"the base model; TuFT: fsdp_rank_slots)", err, c.base)
		}
		c.Log(fmt.Sprintf("%s has no room for another adapter; model %s, which an earlier start of this job left "+
			"there, is unloaded", c.base, spare[0]))
		if err := c.unloadSpare(ctx, spare[0]); err != nil {
			return err
		}
		spare = spare[1:]
	}
}

// spare lists the models that may be unloaded for a model that continues from a state of from, in order.
func (c *Client) spare(from string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	source := false
	for _, id := range c.Spare {
		if id == from {
			source = true
		} else if c.models[id] == nil { // not in use by this process
			list = append(list, id)
		}
	}
	if source && !c.is(tuft) {
		list = append(list, from)
	}
	return list
}

// unloadSpare unloads a model of an earlier process, which the server may have unloaded already.
func (c *Client) unloadSpare(ctx context.Context, id string) error {
	f, err := c.UnloadModel(ctx, id)
	if err == nil {
		_, err = f.Wait(ctx)
	}
	if err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("client: unload model %s: %w", id, err)
	}
	return nil
}
