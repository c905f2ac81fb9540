package sampler

import "slices"

// begin starts samples of finished prompts, each placed before its prompt, and removes sequences that have ended.
func (c *Scheduler) begin() {
	c.grant()
	old, now := c.sequences, c.spare[:0]
	for _, l := range old {
		if l.granted > 0 {
			now = c.spawn(l, now, l.granted)
		}
		if l.s.left == 0 {
			c.end(l.s, nil)
		}
		if l.s.closed || l.prompting() && l.s.next == l.s.n || !l.prompting() && l.idle() {
			l.drop()
		} else {
			now = append(now, l)
		}
		now = append(now, l.parted...)
		l.parted = nil
	}
	clear(old)
	c.sequences, c.spare = now, old[:0]
}

// grant divides the room for new samples among the finished prompts: one by one to the one with the least share,
// until a waiting request comes first. A prompt without any sample in progress may always begin one.
func (c *Scheduler) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	room, next := c.MaxSequences-c.samples(), c.first(false)
	ready := c.some[:0]
	defer func() { clear(c.some[:cap(c.some)]) }()
	for _, l := range c.sequences {
		if l.granted = 0; l.ready() {
			if l.s.next == l.s.n-l.s.left && (next == nil || next.share.Compare(l.s.queue.share) >= 0) {
				l.granted = 1
				l.s.queue.share.Charge(1)
				room--
			}
			ready = append(ready, l)
		}
	}
	c.some = ready
	for ; room > 0 && len(ready) > 0; room-- {
		i := leastServed(ready)
		l := ready[i]
		if next != nil && next.share.Compare(l.s.queue.share) < 0 {
			break
		}
		if l.granted == l.s.n-l.s.next {
			ready = slices.Delete(ready, i, i+1)
			room++
			continue
		}
		l.granted++
		l.s.queue.share.Charge(1)
	}
}

// samples is the number of samples in progress, with prompts as one each: that of sequences once all samples part.
func (c *Scheduler) samples() (n int) {
	for _, l := range c.sequences {
		n += max(1, len(l.samples))
	}
	return n
}

// spawn begins at most room samples of a finished prompt and appends those that continue to sequences: samples that
// draw the same token are one.
func (c *Scheduler) spawn(l *sequence, sequences []*sequence, room int) []*sequence {
	s, old := l.s, len(sequences)
	lse := c.Compute.K.LogSumExp(l.logits)
	for ; s.next < s.n && room > 0; s.next++ {
		one := s.sample(s.next)
		token := c.draw(l.logits, s, one.stream, 0)
		d := drawnToken{token, logprob(l.logits, lse, token), s.top(l.logits, lse), l.drawer()}
		same := func(v *sequence) bool { return v.last() == token && !s.repeats() }
		if i := slices.IndexFunc(sequences[old:], same); i >= 0 {
			v, tail := sequences[old+i], []byte(nil)
			s.sampled(s.next, d, &tail) // it does not end, as those before it did not
			v.samples = append(v.samples, one)
			room--
			continue
		}
		child := l.fork(one, token, c.stuck(sequences))
		if child == nil {
			break // no pages: try again in the next step
		}
		if s.sampled(s.next, d, &child.tail) {
			child.drop()
			continue
		}
		sequences = append(sequences, child)
		room--
	}
	return sequences
}

// stuck reports that no sample is in progress, so that no pages will be released.
func (c *Scheduler) stuck(sequences []*sequence) bool {
	running := func(l *sequence) bool { return !l.prompting() }
	return !slices.ContainsFunc(sequences, running) && !slices.ContainsFunc(c.sequences, running)
}
