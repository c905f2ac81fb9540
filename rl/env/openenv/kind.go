package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// kind is the environment of an id: its servers, their properties and their sessions.
type kind struct {
	source *Source
	id     string
	address
	spec    env.Spec
	web     *web
	servers []*started
	pool    *pool
	schema  *schema // of actions
	actions string  // the schema in one line
	tasks   *tasks  // nil: the seeds are the tasks

	tools     bool // actions are calls of tools
	toolTypes map[string]*schema
	toolList  jinja.List
	toolText  string

	steady bool // one seed is one episode, as far as its beginning shows
	fresh  bool // every episode needs a session of its own

	once     sync.Once
	err      error
	unpaid   sync.Once // a note on episodes without any reward
	mu       sync.Mutex
	metadata map[int]json.RawMessage // of tasks
}

func (k *kind) note(text string) { k.source.opts.Note(k.id + ": " + text) }

// describe tries the server and finds out its properties.
func (k *kind) describe(ctx context.Context) (err error) {
	if k.address, err = parse(k.id, k.source.opts.Find); err != nil {
		return err
	}
	k.web, k.metadata = newWeb(&k.args), map[int]json.RawMessage{}
	bases := []func(context.Context) (string, error){func(context.Context) (string, error) { return k.name, nil }}
	if k.from != running {
		bases = bases[:0]
		for range k.args.servers {
			s := newStarted(k)
			k.servers, bases = append(k.servers, s), append(bases, s.base)
		}
	}
	url, err := bases[0](ctx)
	if err != nil {
		return err
	}
	if k.schema, err = k.web.schema(ctx, url); err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, k.schema.raw); err != nil {
		return err
	}
	k.actions, k.tools = line.String(), k.schema.tools()
	if fill := k.args.template.fill; fill != "" && k.schema.Properties[fill] == nil && !k.tools {
		return fmt.Errorf("fill is %q, and the action has no such field; it has %s", fill,
			strings.Join(slices.Sorted(maps.Keys(k.schema.Properties)), ", "))
	}
	params := env.Params{"max_turns": k.args.turns}
	if k.args.split != "" {
		if k.tasks, err = openTasks(ctx, k.web, bases[0], k.args.split); err != nil {
			return err
		}
		params["task"] = env.Drawn
	}
	k.pool = newPool(k, bases...)
	if err := k.try(ctx); err != nil {
		return err
	}
	k.spec = env.Spec{ID: k.id, Params: params, Needs: "an OpenEnv server", New: k.make, Unsteady: !k.steady}
	if k.tasks != nil {
		k.spec.Tasks = k.tasks.count
	}
	return nil
}

// trySeed is the seed of the resets that are compared.
const trySeed = 1

// try resets the environment twice in one session and once in another, with one seed, plays an action in each session,
// and compares the texts.
func (k *kind) try(ctx context.Context) error {
	first, again, err := k.tryTwice(ctx)
	if err != nil {
		return err
	}
	s, err := k.pool.take(ctx)
	if err != nil {
		return err
	}
	defer k.pool.drop(s)
	other, err := k.trial(ctx, s)
	if err != nil {
		return err
	}
	if err := k.compareTasks(ctx, s, other.text); err != nil {
		return err
	}
	k.fresh = first.text != again.text
	if first.text != other.text {
		return k.unsteady("two resets do not begin alike", first.text, other.text)
	}
	if k.steady = true; k.fresh {
		return nil // the action was not played from the same beginning
	}
	if k.tasks != nil {
		if other, err = k.trial(ctx, s); err != nil {
			return err
		}
	}
	other.answer = k.played(ctx, s, other)
	if other.answer != first.answer && other.answer != "" && first.answer != "" {
		k.steady = false
		return k.unsteady("two resets begin alike, and one action is answered in two ways", first.answer, other.answer)
	}
	return nil
}

// tryTwice resets twice in a session of its own, and plays an action after the second reset. first has its answer.
func (k *kind) tryTwice(ctx context.Context) (first, again trial, err error) {
	s, err := k.pool.take(ctx)
	if err != nil {
		return first, again, err
	}
	defer k.pool.drop(s)
	if k.tools {
		if err := k.offer(ctx, s); err != nil {
			return first, again, err
		}
	}
	if first, err = k.trial(ctx, s); err != nil {
		return first, again, err
	}
	if again, err = k.trial(ctx, s); err != nil {
		return first, again, err
	}
	first.answer = k.played(ctx, s, again)
	return first, again, nil
}

// trial is how an episode began.
type trial struct {
	text   string
	legal  []int
	answer string // to one action; "" if there is none to compare
}

func (k *kind) trial(ctx context.Context, s *session) (trial, error) {
	r, text, err := k.reset(ctx, s, trySeed, 0, nil)
	return trial{text: text, legal: legalOf(r.observation)}, err
}

// played plays an action of the random player. An action that cannot be played is not compared: if it is a
// fault, it fails in an episode.
func (k *kind) played(ctx context.Context, s *session, begun trial) string {
	e := &Env{kind: k, playing: true, legal: begun.legal}
	draw := rng.New(trySeed).Stream("trial")
	actions, _, err := e.read(e.SampleAction(&draw))
	if err != nil || len(actions) == 0 {
		return ""
	}
	r, err := k.ask(ctx, s, "step", actions[0], nil)
	if err != nil {
		return ""
	}
	text, err := k.answer(r)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s (reward %v, done %v)", text, r.reward, r.done)
}

// compareTasks notes tasks that begin alike.
func (k *kind) compareTasks(ctx context.Context, s *session, first string) error {
	if k.tasks == nil || k.tasks.count < 2 {
		return nil
	}
	_, other, err := k.reset(ctx, s, trySeed, 1, nil)
	if err == nil && other == first {
		k.note("tasks 0 and 1 of split " + k.args.split + " begin alike; the environment's reset may ignore split " +
			"and index, which servers drop without a word where reset does not declare them")
	}
	return err
}

// unsteady says that a seed does not decide an episode: one and other are the texts.
func (k *kind) unsteady(what, one, other string) error {
	at := 0
	for at < len(one) && at < len(other) && one[at] == other[at] {
		at++
	}
	from := max(0, at-40)
	text := fmt.Sprintf("with seed %d, %s: …%q and …%q. The server ignores seeds, so the repetitions of a task (a "+
		"group of GRPO) begin in different states although their rewards are compared, and an episode whose "+
		"session is lost fails. Remedy: let reset draw everything from its argument seed; or, if only an id or a time "+
		"differs, show other fields (show=FIELD in the id); or train without groups (method=reinforce)",
		trySeed, what, cut(strings.ToValidUTF8(one[from:], ""), 100), cut(strings.ToValidUTF8(other[from:], ""), 100))
	if k.args.strict {
		return fmt.Errorf("%s. It is refused, as strict_seed is true", text)
	}
	k.note(text + ". strict_seed=true refuses such servers")
	return nil
}

// offer finds out which tools there are.
func (k *kind) offer(ctx context.Context, s *session) error {
	if _, _, err := k.reset(ctx, s, trySeed, 0, nil); err != nil {
		return err
	}
	r, err := k.ask(ctx, s, "step", listTools, nil)
	if err != nil {
		return err
	}
	list, err := readTools(r.observation)
	if err != nil {
		return err
	}
	k.toolTypes = map[string]*schema{}
	for _, t := range list {
		k.toolTypes[t.Name] = t.schema
	}
	k.toolList, k.toolText, err = described(list)
	return err
}

// ask sends a reset or a step and returns the observation. An error message of the server is an error; after it the
// session is not used again, unless it was the player's mistake.
func (k *kind) ask(ctx context.Context, s *session, what string, data any, record *Episode) (reply, error) {
	m, err := message(what, data)
	if err != nil {
		return reply{}, err
	}
	record.said(Message{Sent: string(m)})
	raw, err := s.ask(ctx, what, m, k.args.timeout)
	if err != nil {
		return reply{}, err
	}
	record.said(Message{Received: string(raw)})
	r, err := decode(raw)
	switch {
	case err != nil:
		return reply{}, err
	case r.fault != nil && (r.fault.Code == noSession || r.fault.Code == noCapacity):
		return reply{}, &lost{r.fault}
	case r.fault != nil:
		return reply{}, r.fault
	case r.kind != "observation":
		return reply{}, garbage(raw, "an observation was asked for")
	}
	return r, nil
}

// reset begins an episode and returns its text for the player.
func (k *kind) reset(ctx context.Context, s *session, seed uint32, index int, record *Episode) (reply, string, error) {
	data := map[string]any{"seed": seed}
	maps.Copy(data, k.args.reset)
	if k.tasks != nil {
		data["split"], data["index"] = k.args.split, index
	}
	s.resets++
	r, err := k.ask(ctx, s, "reset", data, record)
	if err != nil {
		return r, "", err
	}
	if r.done {
		return r, "", fmt.Errorf("the episode of seed %d is over as it begins: reset answers with done: true", seed)
	}
	text, err := k.text(r, k.args.template.first)
	return r, k.args.template.prompt + text, err
}

// text is the text of an observation for the player.
func (k *kind) text(r reply, paths []path) (string, error) {
	switch {
	case paths != nil:
		text, err := shown(r.observation, paths)
		if err != nil {
			err = fmt.Errorf("%w; correct show or first in the id, unless the server declares another observation "+
				"than it sends", err)
		}
		return text, err
	case k.tools:
		return string(r.observation), nil
	}
	return whole(r.observation, json.RawMessage(k.actions)), nil
}

// answer is the text of the answer to an action for the player.
func (k *kind) answer(r reply) (string, error) {
	if k.tools {
		return answered(r.observation)
	}
	return k.text(r, k.args.template.show)
}

// taskOf is the data of a task from the task API.
func (k *kind) taskOf(ctx context.Context, index int) (json.RawMessage, error) {
	k.mu.Lock()
	task, known := k.metadata[index]
	k.mu.Unlock()
	if known {
		return task, nil
	}
	task, err := k.tasks.task(ctx, index)
	if err != nil {
		return nil, k.tasks.shrunk(ctx, index, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.metadata[index] = task
	return task, nil
}

// make implements Spec.New.
func (k *kind) make(p env.Params) (env.Env, error) {
	e := &Env{kind: k, task: env.Drawn, limit: p["max_turns"]}
	if e.limit < 1 {
		return nil, fmt.Errorf("max_turns is %d; it must be 1 or more", e.limit)
	}
	if n, has := p["task"]; has && n != env.Drawn {
		if n < 0 || n >= k.tasks.count {
			return nil, fmt.Errorf("task is %d; the split %s has tasks 0 to %d", n, k.args.split, k.tasks.count-1)
		}
		e.task = n
	}
	return e, nil
}
