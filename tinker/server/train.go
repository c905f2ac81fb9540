package server

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// forwardBackward takes both the protobuf of today's SDK and the JSON of old ones. Whatever can be read as a request is
// promised, and what is wrong with its data is its result: a chunk that is turned away stops the SDK for good.
func (s *Server) forwardBackward(c *call) (any, error) {
	var req wire.ForwardBackward
	var bad error
	if strings.HasPrefix(c.r.Header.Get("Content-Type"), wire.Proto) {
		req, bad = wire.DecodeForwardBackward(c.body)
	} else {
		var old wire.LegacyForward
		if bad = wire.Decode(c.body, &old); bad == nil {
			req, bad = old.Tinker()
		} else {
			req.ModelID, req.SeqID = old.ModelID, old.SeqID
		}
	}
	if errors.Is(bad, wire.ErrMalformed) {
		return nil, bad
	}
	if bad == nil && len(req.LossFnText) > 0 {
		bad = tinker.Userf("loss_fn_config: %v is text; no loss here has settings that are text", req.LossFnText)
	}
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if bad == nil && req.LossFn == tinker.StableReinforce {
		bad = s.attribute(m, req)
	}
	if bad != nil {
		return s.reject(m, req.SeqID, bad)
	}
	tokens := 0
	for _, d := range req.Data {
		tokens += d.ModelInput.Len()
	}
	f := tinker.ForwardRequest{SeqID: req.SeqID, Data: req.Data, LossFn: req.LossFn, LossFnConfig: req.LossFnConfig}
	phase, send := "forward_backward", m.client.ForwardBackward
	if req.ForwardOnly {
		phase, send = "forward", m.client.Forward
	}
	return accept(s, m, req.SeqID, phase, tokens, int64(len(c.body)), func() (*tinker.Future[tinker.ForwardOutput], error) { return send(s.ctx, f) })
}

func (s *Server) optimStep(c *call, req wire.OptimStepRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	o, err := req.Tinker()
	if err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return accept(s, m, req.SeqID, "optim_step", 0, int64(len(c.body)), func() (*tinker.Future[tinker.OptimStepOutput], error) { return m.client.OptimStep(s.ctx, o) })
}

// accept hands a training request to the backend, which makes it durable, and promises its result.
func accept[T any](s *Server, m *model, seq int64, phase string, tokens int, size int64, send func() (*tinker.Future[T], error)) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	_, again := s.state.rejects[trainKey{m.ID, seq}]
	awaited := len(m.ahead) > 0 && seq == m.dense+1 // others wait for it
	s.mu.Unlock()
	if _, known := s.backend.Lookup(m.ID, seq); !known && !awaited {
		if err := s.queueRoom(m, tokens, size); err != nil {
			return nil, err
		}
	}
	if again {
		if err := s.log.Sync(s.log.End()); err != nil { // the first one may still be on its way to the disk
			return nil, err
		}
	} else {
		f, err := send()
		if err != nil {
			return nil, err
		}
		s.count(m, seq, phase, tokens, size, f.Done())
	}
	return s.promiseOf(tokenTrain, m.ID, seq, m.ID), nil
}

// queueRoom refuses a training request while too much waits.
func (s *Server) queueRoom(m *model, tokens int, size int64) error {
	if s.queued.Load()+size > s.opts.MaxQueuedBytes && s.waiting.Load() > 0 {
		return &statusError{http.StatusServiceUnavailable, fmt.Errorf("training requests of %d bytes wait already; send this one again later", s.queued.Load()), 5 * time.Second}
	}
	s.mu.Lock()
	tenant := s.state.sessions[m.Session].Tenant
	s.mu.Unlock()
	if err := s.crowded(tinker.Training, tenant, tokens); err != nil {
		return &statusError{http.StatusServiceUnavailable, fmt.Errorf("%w; send this one again later", err), 5 * time.Second}
	}
	return nil
}

func checkSeq(seq int64) error {
	if seq < 1 || seq > math.MaxInt32 {
		return tinker.Userf("seq_id is %d; requests of a model are numbered 1, 2, 3 …", seq)
	}
	return nil
}

// count keeps the numbers of what waits until the request is done. A request sent again is counted again, and done at once.
func (s *Server) count(m *model, seq int64, phase string, tokens int, size int64, done <-chan struct{}) {
	s.mu.Lock()
	s.arrived(m, seq)
	s.mu.Unlock()
	s.queued.Add(size)
	s.waiting.Add(1)
	s.work.begin(func() {
		select {
		case <-done:
			s.stats.tokens(phase, tokens)
		case <-s.ctx.Done():
		}
		s.queued.Add(-size)
		s.waiting.Add(-1)
	})
}

// reject uses up the number of a request that is wrong, so that later ones run, and promises the error as its result.
func (s *Server) reject(m *model, seq int64, bad error) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	err := s.change(func(t *state) (int64, error) {
		if _, accepted := s.backend.Lookup(m.ID, seq); accepted {
			if _, again := t.rejects[trainKey{m.ID, seq}]; !again {
				return 0, tinker.Userf("seq_id %d of model %s was used for another request (and this one is wrong: %w)", seq, m.ID, bad)
			}
			return 0, nil
		}
		r := rejected(m.ID, seq, bad)
		t.rejects[trainKey{m.ID, seq}] = r
		return s.record(recReject, r)
	})
	if err != nil {
		return nil, err
	}
	if err := s.void(m, seq); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.arrived(m, seq)
	s.mu.Unlock()
	return s.promiseOf(tokenTrain, m.ID, seq, m.ID), nil
}

// void sends a request without data in place of one that was wrong: it fails, and changes nothing but the number.
func (s *Server) void(m *model, seq int64) error {
	_, err := m.client.Forward(s.ctx, tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy})
	if tinker.CategoryOf(err) == tinker.User {
		return nil // used up long ago
	}
	return err
}

func rejected(model string, seq int64, err error) reject {
	return reject{Model: model, Seq: seq, Error: err.Error(), Category: tinker.CategoryOf(err)}
}

func (r reject) err() error { return &tinker.Error{Category: r.Category, Err: errors.New(r.Error)} }

// arrived notes that a number was accepted. While later numbers wait for one that is missing, a timer runs: a client that gave
// up on a request never sends it again. s.mu is held.
func (s *Server) arrived(m *model, seq int64) {
	if seq > m.dense {
		m.ahead[seq] = true
	}
	for m.ahead[m.dense+1] {
		m.dense++
		delete(m.ahead, m.dense)
	}
	switch {
	case len(m.ahead) == 0 && m.gap != nil:
		m.gap.Stop()
		m.gap = nil
	case len(m.ahead) > 0 && m.gap == nil && s.ctx.Err() == nil:
		waiting := m.dense
		m.gap = time.AfterFunc(s.opts.GapAfter, func() { s.closeGap(m, waiting) })
	}
}

// closeGap gives up on the numbers that are missing, unless some came meanwhile.
func (s *Server) closeGap(m *model, waiting int64) {
	s.mu.Lock()
	m.gap = nil
	var missing []int64
	if m.dense == waiting && s.ctx.Err() == nil {
		for seq, left := m.dense+1, len(m.ahead); left > 0; seq++ {
			if m.ahead[seq] {
				left--
			} else {
				missing = append(missing, seq)
			}
		}
	}
	s.mu.Unlock()
	for _, seq := range missing {
		s.opts.Log.Warn("a training request never arrived and is given up", "model", m.ID, "seq_id", seq)
		if _, err := s.reject(m, seq, tinker.Userf("request %d of model %s did not arrive within %v of later ones and was given up", seq, m.ID, s.opts.GapAfter)); err != nil && s.ctx.Err() == nil {
			s.opts.Log.Error("giving up a training request", "model", m.ID, "seq_id", seq, "error", err)
		}
	}
	s.mu.Lock()
	s.arrived(m, m.dense) // looks whether a timer must run again
	s.mu.Unlock()
}

// lookBack bounds how far behind the newest number a missing one can be.
const lookBack = 1 << 17

// recount learns after a restart which numbers were accepted, and uses up again those that were rejected. s.mu is held.
func (s *Server) recount(m *model) {
	next := m.info.NextSeqID
	m.dense = next - 1
	for seq := next - 1; seq > max(0, next-lookBack); seq-- {
		if _, accepted := s.backend.Lookup(m.ID, seq); !accepted {
			m.dense = seq - 1
		}
	}
	for key := range s.state.rejects {
		if key.model == m.ID && key.seq > m.dense {
			s.work.begin(func() { s.void(m, key.seq) })
			m.ahead[key.seq] = true
		}
	}
	for seq := m.dense + 1; seq < next; seq++ {
		if _, accepted := s.backend.Lookup(m.ID, seq); accepted {
			s.arrived(m, seq)
		}
	}
	s.arrived(m, m.dense)
}

// gapReason says what a request waits for when that is one that has not arrived. s.mu is held.
func (m *model) gapReason(seq int64) string {
	if len(m.ahead) == 0 || seq <= m.dense {
		return ""
	}
	return fmt.Sprintf("request %d waits for request %d of the model, which has not arrived", seq, m.dense+1)
}
