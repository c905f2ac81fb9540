package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// outlet is the explorer's end of what lies between the loops.
type outlet interface {
	// put hands over the experiences of an explore step; one that was put before is not put again.
	put(ctx context.Context, step int, list []*experience.Experience) error
	// finish says that nothing more will be put.
	finish(ctx context.Context) error
}

// keeper is an outlet that remembers for good what was put: what is in it need not be explored again.
type keeper interface{ explored() int }

// queueFeed is a queue inside the process; it also keeps count of which explore steps have been read.
type queueFeed struct {
	queue *buffer.Queue
	copy  keep // nil unless experience_buffer.path asks for a copy

	mu    sync.Mutex
	pos   trainer.Position
	sizes []stepSize // of what was put and is not wholly read, in order
}

type stepSize struct{ step, n int }

// newQueueFeed makes a feed that begins at pos: of explore step pos.Step the first pos.Count experiences are left out.
func newQueueFeed(q *buffer.Queue, sync *synchronizer.Synchronizer, copy keep, pos trainer.Position) *queueFeed {
	q.Starved = sync.SetIdle
	return &queueFeed{queue: q, copy: copy, pos: trainer.Position{Step: pos.Step, Count: pos.Count}}
}

func (s *queueFeed) put(ctx context.Context, step int, list []*experience.Experience) error {
	if s.copy != nil {
		if err := s.copy(ctx, step, list); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if step < s.pos.Step { // explored again only for what is learned from it
		s.mu.Unlock()
		return nil
	}
	n := len(list)
	if step == s.pos.Step {
		list = list[min(n, s.pos.Count):]
	}
	s.sizes = append(s.sizes, stepSize{step, n})
	s.mu.Unlock()
	err := s.queue.Put(ctx, list)
	if errors.Is(err, buffer.ErrClosed) {
		return nil // the trainer has ended
	}
	return err
}

func (s *queueFeed) take(ctx context.Context, n, _ int) ([]*experience.Experience, error) {
	list, err := s.queue.Read(ctx, n, -1)
	if errors.Is(err, buffer.ErrClosed) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos.Count += len(list)
	for len(s.sizes) > 0 && s.pos.Count >= s.sizes[0].n {
		s.pos = trainer.Position{Step: s.sizes[0].step + 1, Count: s.pos.Count - s.sizes[0].n}
		s.sizes = s.sizes[1:]
	}
	return list, nil
}

func (s *queueFeed) at() trainer.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pos
}

func (s *queueFeed) short(_ context.Context, n, _ int) (bool, error) { return s.queue.Len() < n, nil }

func (s *queueFeed) finish(context.Context) error {
	s.queue.Close()
	return nil
}

// sqlFeed is a table that explorer and trainer share, in one process or two. Its position counts reads.
type sqlFeed struct {
	table  *buffer.SQL
	job    *job
	writer string
	last   atomic.Int64 // explore step put; the trainer asks too

	reads int // given to the trainer

	mu    sync.Mutex
	total int // experiences in the table when this process's explorer put last; more than there can be while it puts
}

// buildBuffer opens what lies between the loops, if that is on the disk, and finds where the explorer goes on.
func (b *job) buildBuffer(ctx context.Context) error {
	eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
	switch {
	case b.cfg.Mode == config.Bench || eb == nil:
		return nil
	case b.aside() && eb.StorageType == "file":
		s, err := b.openFileSink(eb.Path, "written")
		b.outlet = s
		return err
	case eb.StorageType != "sql", b.method.Schema != "experience": // sft and dpo read a table as they read a file
		return nil
	}
	s := &sqlFeed{job: b, writer: b.cfg.Explorer.Name}
	if err := b.makeFolder(eb.Path); err != nil {
		return err
	}
	first, err := b.priority()
	if err != nil {
		return err
	}
	epochs := 0
	if b.cfg.Buffer.TotalSteps == nil {
		epochs = b.cfg.Buffer.TotalEpochs
	}
	s.table, err = buffer.OpenSQL(ctx, eb.Path, eb.Name, buffer.SQLOptions{Timeout: seconds(eb.MaxReadTimeout), First: first, Now: b.Now,
		Retries: eb.MaxRetryTimes, Pause: seconds(eb.MaxRetryInterval), FS: b.FS, Starved: b.starved, Steps: value(b.cfg.Buffer.TotalSteps), Epochs: epochs})
	if err != nil {
		return err
	}
	b.opened(s.table.Close)
	if b.cfg.Mode.Explores() || b.cfg.Mode.Serves() {
		last, err := s.table.Begin(ctx, s.writer)
		s.last.Store(int64(last))
		if err != nil {
			return err
		}
	}
	b.outlet, b.table = s, s
	return nil
}

// priority is the order of the replay buffer, nil if there is none.
func (b *job) priority() (*buffer.Priority, error) {
	eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
	r := eb.ReplayBuffer
	if !r.Enable {
		return nil, nil
	}
	p := &buffer.Priority{Decay: 2, Seed: b.identity.Seed, Capacity: eb.Capacity}
	limited := r.PriorityFn == "decay_limit_randomization"
	if limited {
		p.Limit = 3
	}
	given := arg.Read(r.PriorityFnArgs)
	p.Decay = given.Float("decay", p.Decay)
	if limited {
		p.Sigma, p.Limit = given.Float("sigma", 0), given.Int("use_count_limit", p.Limit, 0)
	}
	given.Require(p.Decay >= 0, "decay", p.Decay, "0 or more")
	given.Require(p.Sigma >= 0, "sigma", p.Sigma, "0 or more")
	if err := given.Close(); err != nil {
		return nil, fmt.Errorf("priority_fn %s: %w", r.PriorityFn, err)
	}
	if r.ReuseCooldownTime != nil {
		p.Reuse, p.Cooldown = true, seconds(*r.ReuseCooldownTime)
	}
	return p, nil
}

func (s *sqlFeed) explored() int { return int(s.last.Load()) }

func (s *sqlFeed) put(ctx context.Context, step int, list []*experience.Experience) error {
	s.putting(math.MaxInt)
	if err := s.table.Put(ctx, s.writer, step, list); err != nil {
		return err
	}
	total, err := s.table.Total(ctx)
	if err != nil {
		return err
	}
	s.last.Store(int64(step))
	s.putting(total)
	return nil
}

// putting notes how many experiences there are: until the trainer has seen as many, it is not said to wait for more.
func (s *sqlFeed) putting(total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = total
	s.job.sync.SetIdle(false)
}

// starved hears how many experiences there were when the trainer found too few, or with seen < 0 that it found enough.
func (s *sqlFeed) starved(seen int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job.sync.SetIdle(seen >= s.total)
}

func (s *sqlFeed) take(ctx context.Context, n, minVersion int) ([]*experience.Experience, error) {
	list, err := s.table.Read(ctx, s.reads+1, n, minVersion)
	if errors.Is(err, buffer.ErrClosed) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	s.reads++
	return list, s.job.starved(-1)
}

func (s *sqlFeed) at() trainer.Position { return trainer.Position{Count: s.reads} }

func (s *sqlFeed) short(ctx context.Context, n, minVersion int) (bool, error) {
	there, err := s.table.Available(ctx, minVersion)
	return there < n, err
}

func (s *sqlFeed) finish(ctx context.Context) error {
	return s.table.Finish(context.WithoutCancel(ctx), s.writer)
}

// starved hears that the trainer found too few experiences when put had been put, or with put < 0 that it found enough.
func (b *job) starved(put int) error {
	b.table.starved(put)
	if !b.followed() {
		return nil
	}
	status := synchronizer.TrainerStatus{State: synchronizer.Running, Step: b.trainer.Step(), Idle: put >= 0, Seen: max(0, put)}
	if status == b.status {
		return nil
	}
	b.status = status
	return b.folder.WriteTrainer(status)
}

// followed reports whether an explorer of another process may sample what this one trains.
func (b *job) followed() bool { return b.cfg.Mode == config.Train && b.table != nil }
