package journal

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// CreateModel implements tinker.Service.
func (j *Journal) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	asked := hashOf(req)
	if req.LoRA.Seed == nil {
		seed := int64(binary.LittleEndian.Uint64(random(8)) >> 1)
		req.LoRA.Seed = &seed
	}
	return j.create(&req.SessionID, req.ModelSeqID, asked, recCreate, &req, func() (tinker.TrainingClient, error) {
		return j.m.CreateModel(ctx, req)
	})
}

// CreateModelFromState implements tinker.Service.
func (j *Journal) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	return j.create(&req.SessionID, req.ModelSeqID, hashOf(req), recCreateFromState, &req,
		func() (tinker.TrainingClient, error) {
			return j.m.CreateModelFromState(ctx, req)
		})
}

// create makes a model in the machine first and then logs it. From then on the journal knows the model, so that a
// snapshot frees the log of its record, but it promises the model only when it is durable. The same request after an
// error finds the same model.
func (j *Journal) create(session *string, seq int64, asked [32]byte, kind recordKind, req any,
	make func() (tinker.TrainingClient, error)) (tinker.TrainingClient, error) {
	j.making.Lock()
	defer j.making.Unlock()
	if *session == "" {
		*session = "session-" + hex.EncodeToString(random(16))
	}
	j.mu.Lock()
	m, closed := j.byKey[key{*session, seq}], j.closed
	j.mu.Unlock()
	switch {
	case closed:
		return nil, tinker.ErrClosed
	case m != nil && m.created.Asked != asked:
		return nil, m.otherSettings(seq, *session)
	case m != nil:
		return promised(m)
	}
	inner, err := make()
	if err != nil {
		return nil, err
	}
	info, err := inner.Info(j.ctx)
	if err != nil {
		return nil, err
	}
	if old := j.find(info.ModelID); old != nil && old.broken != nil {
		return nil, errors.Join(old.broken, j.m.Evict(j.ctx, info.ModelID))
	}
	payload, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	rec := created{ModelID: info.ModelID, Session: *session, Seq: seq, Asked: asked, Kind: kind, Request: payload}
	at, err := j.log.append(kind, rec)
	if err != nil {
		return nil, err
	}
	m = newTrainingClient(j, rec, inner)
	m.info, m.logged = info, at
	j.add(m)
	return promised(m)
}

// promised is the model once its creation is durable.
func promised(m *trainingClient) (tinker.TrainingClient, error) {
	if err := m.promise(); err != nil {
		return nil, err
	}
	return m, nil
}

// promise makes a model's creation durable. A model made from a state needs a snapshot, since the state may be deleted
// before a replay. After an error the next call tries again.
func (m *trainingClient) promise() error {
	if err := m.logged.sync(); err != nil {
		return err
	}
	m.mu.Lock()
	lacks := m.created.Kind == recCreateFromState && !m.snapped && m.leaving == nil
	m.mu.Unlock()
	if !lacks {
		return nil
	}
	return m.snapshot()
}
