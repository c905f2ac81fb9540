package fleet

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

const maxError = 4 << 10 // bytes of a function's error that travel

// answer sends an answer until the head has it or does not want it.
func (w *worker) answer(h *held, payload []byte, seconds float64, failed error) {
	r := message.Result{Task: h.ID, Seconds: seconds}
	body := payload
	w.mu.Lock()
	most := w.welcome.Most
	r.Head = h.Head
	w.mu.Unlock()
	if failed == nil && int64(len(payload)) > most {
		failed = fmt.Errorf("an answer of %d bytes; the limit is %d", len(payload), most)
	}
	if failed != nil {
		r.Error, body = foreign.Cut(failed.Error(), maxError), nil
	} else if len(payload) > message.MaxInline {
		r.Payload, body = &Need{Hash: message.Hash(payload), Size: int64(len(payload))}, nil
	}
	stored := false
	for h.ctx.Err() == nil {
		if r.Payload != nil && !stored {
			if err := w.storeAnswer(h.ctx, r.Payload.Hash, payload); err != nil {
				pause.For(h.ctx, retryWait)
				continue
			}
			stored = true
		}
		data, err := message.Encode(r, body)
		if err != nil {
			return
		}
		var got message.Receipt
		if _, err := askRaw(h.ctx, w.nc, w.names.Result(w.id), data, &got); err != nil {
			pause.For(h.ctx, retryWait/4)
			continue
		}
		if got.Done {
			return
		}
		stored = stored && !got.Again
	}
}

// storeAnswer puts the chunks of a large answer into the store.
func (w *worker) storeAnswer(ctx context.Context, hash string, payload []byte) error {
	for at := 0; at < len(payload); at += blob.Block * blob.Chunk {
		var acks []jetstream.PubAckFuture
		for i := at; i < min(at+blob.Block*blob.Chunk, len(payload)); i += blob.Chunk {
			chunk := payload[i:min(i+blob.Chunk, len(payload))]
			ack, err := w.js.PublishAsync(w.names.Answer(w.id, hash, i/blob.Chunk), chunk)
			if err != nil {
				return err
			}
			acks = append(acks, ack)
		}
		for _, ack := range acks {
			select {
			case <-ack.Ok():
			case err := <-ack.Err():
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// answers keeps the answers given lately, bounded in bytes.
type answers struct {
	limit int

	mu    sync.Mutex
	byID  map[string][]byte
	order []string
	bytes int
}

func (a *answers) get(id string) ([]byte, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	payload, known := a.byID[id]
	return payload, known
}

func (a *answers) put(id string, payload []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.byID[id]; known || len(payload) > a.limit/4 {
		return
	}
	if a.byID == nil {
		a.byID = map[string][]byte{}
	}
	a.byID[id] = payload
	a.order = append(a.order, id)
	a.bytes += len(payload) + len(id)
	for a.bytes > a.limit {
		first := a.order[0]
		a.order = a.order[1:]
		a.bytes -= len(a.byID[first]) + len(first)
		delete(a.byID, first)
	}
}
