package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// rogue is somebody with the credentials of a worker, without the package's own client.
type rogue struct {
	t  *testing.T
	nc *nats.Conn
	id string
	n  message.Names
}

func newRogue(t *testing.T, dir string, h *fleet.Head) *rogue {
	t.Helper()
	id, c, n := granted(t, dir, h.Creds())
	nc, violations := as(t, h.URL(), c, n.Inbox(id))
	if nc == nil {
		t.Fatal(<-violations)
	}
	r := &rogue{t, nc, id, n}
	r.ask(n.Announce(id), message.Announcement{About: fleet.About{Name: "rogue", Version: "v1", Slots: 1}})
	return r
}

// ask sends a request as a worker does.
func (r *rogue) ask(subject string, v any) {
	r.t.Helper()
	if _, err := r.nc.Request(subject, r.encoded(v), patience); err != nil {
		r.t.Errorf("%s: %v", subject, err)
	}
}

func (r *rogue) encoded(v any) []byte {
	r.t.Helper()
	data, err := message.Encode(v, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

// sendTo has whoever answers a message answer to any subject.
func (r *rogue) sendTo(reply, subject string, data []byte) {
	r.t.Helper()
	if err := r.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.nc.Flush(); err != nil {
		r.t.Fatal(err)
	}
}

// offer lets workers ask for a blob and returns a task that needs it.
func offer(h *fleet.Head, data []byte) (k fleet.Task, n fleet.Need) {
	n = fleet.Need{Hash: message.Hash(data), Size: int64(len(data))}
	h.Offer(n.Hash, n.Size, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	return fleet.NewTask("square", []byte("with a blob"), 100, n), n
}

// computes has a task computed by a new worker, which has no blobs.
func computes(t *testing.T, h *fleet.Head, name string, k fleet.Task, blob []byte) {
	t.Helper()
	w := join(t, h, name, square)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := h.Do(ctx, k)
	if err != nil || !bytes.Equal(r.Payload, want(k, blob)) {
		t.Errorf("%s: %x, %v", name, r.Payload, err)
	}
	close(w.drain)
	if err := w.end(t); err != nil {
		t.Error(err)
	}
}

// chunks are 600 KB, three chunks, that are not all alike.
func chunks() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 600<<10/16) }

// What the head answers goes to whoever asked and nowhere else.
func TestTheHeadWritesNowhereForAWorker(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	blob := chunks()
	k, n := offer(h, blob)
	computes(t, h, "first", k, blob) // the chunks are stored
	r := newRogue(t, dir, h)
	head := headOf(t, r.nc, r.n)
	before := h.Status().Strays
	about := message.Announcement{About: fleet.About{Name: "rogue", Version: "v1", Slots: 1}}
	sent := int64(0)
	for _, to := range []string{r.n.Chunk(n.Hash, 1), r.n.Pulse(), r.n.Control("UOTHER"), r.n.Inbox("UOTHER") + ".x",
		r.n.Result("UOTHER"), "_INBOX.head.x", "$JS.API.STREAM.PURGE." + r.n.Blobs(), ""} {
		r.sendTo(to, r.n.Announce(r.id), r.encoded(about))
		r.sendTo(to, r.n.Want(r.id), r.encoded(message.Want{Hash: n.Hash}))
		r.sendTo(to, r.n.Want(r.id), r.encoded(message.Want{Hash: n.Hash, Direct: true}))
		r.sendTo(to, r.n.Result(r.id), r.encoded(message.Result{Task: k.ID, Head: head}))
		sent += 4
	}
	eventually(t, "the head has seen and refused all of it", func() bool { return h.Status().Strays >= before+sent })
	if s, err := fleet.Ask(dir, "status", ""); err != nil || s.Strays != before+sent {
		t.Errorf("%d messages are refused (%v); want %d", s.Strays, err, before+sent)
	}
	if got := fleet.StoredChunk(t, h, n.Hash, 1); !bytes.Equal(got, blob[256<<10:512<<10]) {
		t.Errorf("chunk 1 in the store is %.80q", got)
	}
}

// Whoever has what NATS says sent elsewhere, such as the acknowledgement of a stored message, can write wrong chunks.
// They are missing chunks: workers get the right ones, and the store is repaired.
func TestAWrongChunkIsAMissingChunk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, j := openHead(t, dir, "127.0.0.1:0")
	blob := chunks()
	k, n := offer(h, blob)
	computes(t, h, "first", k, blob)
	r := newRogue(t, dir, h)
	poison := func() {
		r.sendTo(r.n.Chunk(n.Hash, 1), r.n.Answer(r.id, n.Hash, 0), []byte("anything"))
		r.sendTo(r.n.Chunk(n.Hash, 2), "$JS.API.DIRECT.GET."+r.n.Blobs()+"."+r.n.Chunk(n.Hash, 0), nil)
		eventually(t, "the chunks are wrong", func() bool {
			return bytes.HasPrefix(fleet.StoredChunk(t, h, n.Hash, 1), []byte("{")) &&
				len(fleet.StoredChunk(t, h, n.Hash, 2)) == 256<<10
		})
	}
	poison()
	computes(t, h, "second", k, blob)
	for i := range 3 {
		if got := fleet.StoredChunk(t, h, n.Hash, i); !bytes.Equal(got, blob[i*256<<10:min((i+1)*256<<10, len(blob))]) {
			t.Errorf("chunk %d in the store is not repaired: %.80q", i, got)
		}
	}
	if !strings.Contains(j.String(), "is not what the head stored") {
		t.Error("the log does not tell of it")
	}
	poison()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h, j = openHead(t, dir, "127.0.0.1:0")
	offer(h, blob)
	computes(t, h, "third", k, blob)
	if got := fleet.StoredChunk(t, h, n.Hash, 1); !bytes.Equal(got, blob[256<<10:512<<10]) ||
		strings.Contains(j.String(), "is not what the head stored") {
		t.Errorf("after a restart the store has %.80q", got)
	}
}

// Nobody is blamed for what others have sent to subjects of his.
func TestNobodyIsBlamedForOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	join(t, h, "honest", square)
	eventually(t, "the honest worker", func() bool { return here(h) == 1 })
	honest := h.Status().Workers[0].ID
	r := newRogue(t, dir, h)
	before := h.Status().Strays
	for range 10 {
		for _, to := range []string{r.n.Result(honest), r.n.Announce(honest), r.n.Want(honest), r.n.Beat(honest),
			r.n.Task(honest), r.n.Control(honest), r.n.Pulse()} {
			r.sendTo(to, r.n.Answer(r.id, strings.Repeat("0", 64), 0), []byte("anything"))
		}
	}
	eventually(t, "the acknowledgements came", func() bool { return h.Status().Strays >= before+40 })
	for _, w := range h.Status().Workers {
		if w.ID == honest && (w.State != "here" || w.Bad != 0) {
			t.Fatalf("the honest worker is %s, %d messages of it are refused", w.State, w.Bad)
		}
	}
	doAll(t, h, 0, 20)
}

// Garbage is no answer: others compute the task, and who sends it is set aside.
func TestAnswersThatCannotBeReadAreNone(t *testing.T) {
	t.Parallel()
	h, j := newHead(t)
	join(t, h, "garbage", func(context.Context, fleet.Task, func(string) (string, error)) ([]byte, error) {
		return bytes.Repeat([]byte("\x1b[2J\n"), 100), nil
	})
	refused := make(chan struct{})
	join(t, h, "honest", func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		select {
		case <-refused:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return square(ctx, k, have)
	})
	// a worker that is alone would get failed tasks again, until their error is believed
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	results := make(chan fleet.Result, 20)
	for i := range cap(results) {
		k := task(i)
		k.Check = func(payload []byte) error {
			if len(payload) != 32 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		go func() {
			r, err := h.Do(t.Context(), k)
			if err != nil || !bytes.Equal(r.Payload, want(k)) {
				t.Errorf("task %d: %q, %v", i, r.Payload, err)
			}
			h.Used(k, r)
			results <- r
		}()
	}
	eventually(t, "an answer is refused", func() bool { return h.Status().Strays > 0 })
	close(refused)
	for range cap(results) {
		<-results
	}
	if s := h.Status(); s.UsedWrong != 0 || strings.Contains(j.String(), "bits of one machine") {
		t.Errorf("%d garbage answers were used", s.UsedWrong)
	}
}

// Workers write their names and errors into the log, but no lines of their own.
func TestTheLogIsTheHeads(t *testing.T) {
	t.Parallel()
	h, j := newHead(t)
	const evil = "gpu\nfleet: worker other is set aside\x1b[2J"
	long := strings.Repeat("E", 300<<10)
	join(t, h, evil, func(context.Context, fleet.Task, func(string) (string, error)) ([]byte, error) {
		panic(evil + long)
	}, func(o *fleet.JoinOptions) {
		o.Cache, o.About.Processor = filepath.Join(t.TempDir(), "cache"), evil
		o.Paused = func() string { return "" }
	})
	if _, err := h.Do(t.Context(), task(0)); err == nil {
		t.Error("no error")
	} else if text := err.Error(); len(text) > 6<<10 || strings.Contains(text, "\x1b") {
		t.Errorf("the error has %d bytes", len(text))
	}
	log := j.String()
	if strings.Contains(log, "\x1b") || strings.Contains(log, "\nfleet: worker other") || len(log) > 20<<10 {
		t.Errorf("the log has %d bytes:\n%.2000s", len(log), log)
	}
	for _, w := range h.Status().Workers {
		if strings.ContainsAny(w.About.Name+w.About.Processor, "\n\x1b") {
			t.Errorf("the status shows %q", w.About.Name)
		}
	}
}

// An error is as long as its worker likes; of it the head keeps the beginning.
func TestAnErrorIsCut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, j := openHead(t, dir, "127.0.0.1:0")
	r := newRogue(t, dir, h)
	given, err := r.nc.SubscribeSync(r.n.Task(r.id))
	if err != nil {
		t.Fatal(err)
	}
	head := headOf(t, r.nc, r.n)
	failed := make(chan error, 1)
	go func() {
		_, err := h.Do(t.Context(), task(0))
		failed <- err
	}()
	eventually(t, "the rogue is there, gets the task, and fails", func() bool {
		r.nc.Publish(r.n.Beat(r.id), r.encoded(message.Beat{Head: head, About: fleet.About{Name: "rogue", Slots: 1}}))
		m, err := given.NextMsg(20 * time.Millisecond)
		if err != nil {
			return false
		}
		var k message.Task
		if _, err := message.Decode(m.Data, &k); err != nil {
			t.Fatal(err)
		}
		r.ask(r.n.Result(r.id), message.Result{Task: k.ID, Head: head, Error: strings.Repeat("E\n", 100<<10)})
		return len(failed) > 0 || h.Status().Workers[0].Failures > 0
	})
	select {
	case err := <-failed:
		if err == nil || len(err.Error()) > 10<<10 {
			t.Errorf("the task's error has %d bytes", len(fmt.Sprint(err)))
		}
	case <-time.After(patience):
		t.Error("the task has no error although nobody can compute it")
	}
	if log := j.String(); !strings.Contains(log, "bytes in all") || len(log) > 20<<10 {
		t.Errorf("the log has %d bytes", len(log))
	}
}

// What a worker gave before it was set aside is compared with another's answer. If that differs, the head decides.
func TestALiarDoesNotMakeOthersWrong(t *testing.T) {
	t.Parallel()
	h, j := newHead(t, func(o *fleet.HeadOptions) { o.Local = square })
	const used = 10
	sound := map[string]bool{}
	for i := range used {
		sound[task(i).ID] = true
	}
	join(t, h, "first", func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		if !sound[k.ID] {
			return []byte("x"), nil
		}
		return square(ctx, k, have)
	})
	eventually(t, "the first worker", func() bool { return here(h) == 1 })
	for i := range used {
		k := task(i)
		r, err := h.Do(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		h.Used(k, r.Lean())
	}
	join(t, h, "liar", flipped)
	eventually(t, "the liar", func() bool { return here(h) == 2 })
	for i := 100; !removed(h, "first") && i < 100+manyTasks; i++ {
		k := task(i)
		k.Check = func(payload []byte) error {
			if len(payload) != 32 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		if _, err := h.Do(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the answers are computed again", func() bool { return h.Status().Audited == used })
	if s := h.Status(); s.UsedWrong != 0 || strings.Contains(j.String(), "; wrong are ") {
		t.Errorf("%d right answers are said to be wrong", s.UsedWrong)
	}
}
