package studio

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Row is a sample as tables show it.
type Row struct {
	ID             string             `json:"id"`
	Set            string             `json:"set"` // "": what is trained on; or eval/<taskset>
	Step           int                `json:"step"`
	Task           string             `json:"task"` // the group within the step
	TaskName       string             `json:"task_name"`
	Key            string             `json:"key"` // of what the task asks, equal across steps and runs
	Repeat         int                `json:"repeat"`
	Reward         *float64           `json:"reward"`
	Parts          map[string]float64 `json:"parts"`
	Advantage      *float64           `json:"advantage"`
	PromptTokens   int                `json:"prompt_tokens"`
	ResponseTokens int                `json:"response_tokens"`
	Stop           string             `json:"stop"`
	Version        int                `json:"version"`
	Turn           int                `json:"turn"` // of a sample that is one turn of an episode
	Turns          int                `json:"turns"`
	ToolCalls      int                `json:"tool_calls"`
	Entropy        *float64           `json:"entropy"`
	Signal         bool               `json:"signal"`
	Head           string             `json:"head"`
}

// headLength is how many characters of an answer a table shows.
const headLength = 160

// row is the row of a place without its head.
func row(f *rollout.Indexed, i int) Row {
	r := &f.Rows[i]
	return Row{ID: sampleID(&f.File, r), Set: f.Set, Step: f.Step, Task: r.Group,
		TaskName: fmt.Sprintf("row %d", r.Task), Key: keyText(r.Key), Repeat: int(r.Repeat),
		Reward: rollout.Finite(r.Reward), Parts: partsOf(f, r), Advantage: rollout.Finite(float64(r.Advantage)),
		PromptTokens: int(r.Prompt), ResponseTokens: int(r.Response), Stop: r.Stop, Version: int(r.Version),
		Turn: int(r.Turn), Turns: int(r.Turns), ToolCalls: int(r.ToolCalls),
		Entropy: rollout.Finite(float64(r.Entropy)), Signal: f.Signal[i]}
}

func keyText(key uint64) string { return fmt.Sprintf("%016x", key) }

func partsOf(f *rollout.Indexed, r *rollout.Row) map[string]float64 {
	parts := map[string]float64{}
	for i, v := range r.Parts {
		if i < len(f.Names) && !math.IsNaN(v) && !math.IsInf(v, 0) {
			parts[f.Names[i]] = v
		}
	}
	return parts
}

// sampleID names a record by its file and line.
func sampleID(f *rollout.File, r *rollout.Row) string {
	return fileID(f) + "." + strconv.Itoa(int(r.Line))
}

// fileID is a file's part of the ids of its samples.
func fileID(f *rollout.File) string {
	return strings.ReplaceAll(strings.TrimSuffix(f.Name, ".jsonl"), "/", "~")
}

// lookID finds a sample by its id.
func lookID(t *rollout.Table, id string) (*rollout.Indexed, int, bool) {
	cut := strings.LastIndexByte(id, '.')
	if cut < 0 {
		return nil, 0, false
	}
	line, err := strconv.ParseInt(id[cut+1:], 10, 32)
	if err != nil {
		return nil, 0, false
	}
	for _, f := range t.Files {
		if f.Segment == nil || fileID(&f.File) != id[:cut] {
			continue
		}
		for i := range f.Rows {
			if f.Rows[i].Line == int32(line) {
				return f, i, true
			}
		}
	}
	return nil, 0, false
}

// scanTime is how long a search may take before what was found is sent.
const scanTime = 800 * time.Millisecond

// samples is GET /api/runs/{run}/samples.
func (s *Studio) samples(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	limit := min(max(q.int("limit", 100), 1), 1000)
	filter, match := q.filter(), q.match()
	if q.err != nil {
		return q.err
	}
	t := s.tableFor(r.Context(), e, filter)
	list := t.Select(filter)
	if err := e.sort(r.Context(), t, list, q.values.Get("sort")); err != nil {
		return err
	}
	from := resume(t, list, q.values.Get("cursor"))
	if match == nil {
		from = max(from, min(max(q.int("offset", 0), 0), len(list)))
	}
	rest := list[from:]
	page, scanned := rest[:min(limit, len(rest))], min(limit, len(rest))
	var total *int
	if match == nil {
		total = new(int)
		*total = len(list)
	} else {
		found := t.Search(r.Context(), e.folder, rest, match, limit, time.Now().Add(scanTime))
		page, scanned = found.Places, found.Scanned
		if found.Done && from == 0 {
			total = new(int)
			*total = len(page)
		}
	}
	out := map[string]any{"samples": s.rows(r.Context(), e, t, page), "total": total, "cursor": nil,
		"scanned": from + scanned, "of": len(list), "indexed": indexedShare(t)}
	if next := from + scanned; next < len(list) && next > 0 {
		out["cursor"] = cursorAt(t, list, next)
	}
	return answer(w, out)
}

func indexedShare(t *rollout.Table) float64 {
	if t.Bytes == 0 {
		return 1
	}
	return float64(t.Done) / float64(t.Bytes)
}

// cursorAt is where the next page begins: a place in the list, and the row before it, so that new rows
// move nothing.
func cursorAt(t *rollout.Table, list []rollout.Place, at int) string {
	f, row := t.At(list[at-1])
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(at) + ":" + sampleID(&f.File, row)))
}

// resume is the place that a cursor names, 0 without one.
func resume(t *rollout.Table, list []rollout.Place, cursor string) int {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) == 0 {
		return 0
	}
	number, id, _ := strings.Cut(string(data), ":")
	at, err := strconv.Atoi(number)
	if err != nil || at < 1 {
		return 0
	}
	is := func(p rollout.Place) bool {
		f, row := t.At(p)
		return sampleID(&f.File, row) == id
	}
	if at <= len(list) && is(list[at-1]) {
		return at
	}
	if i := slices.IndexFunc(list, is); i >= 0 {
		return i + 1
	}
	return min(at, len(list))
}

// rows are the rows of places, with their heads.
func (s *Studio) rows(ctx context.Context, e *entry, t *rollout.Table, places []rollout.Place) []Row {
	rows := make([]Row, 0, len(places))
	var open rollout.Opened
	var measured entropies
	at := int32(-1)
	defer func() {
		if open != nil {
			open.Close()
		}
	}()
	for _, p := range places {
		if p.File != at {
			if open != nil {
				open.Close()
			}
			f := t.Files[p.File]
			var err error
			if open, err = e.folder.Open(f.File); err != nil {
				open = nil // it is gone: the row is all there is
			}
			at, measured = p.File, e.entropies(ctx, f)
		}
		r := row(t.Files[p.File], int(p.Row))
		if r.Entropy == nil {
			r.Entropy = measured.mean(&t.Files[p.File].Rows[p.Row])
		}
		if open != nil {
			r.Head = head(open, &t.Files[p.File].Rows[p.Row])
		}
		rows = append(rows, r)
	}
	return rows
}

// head is the beginning of an answer.
func head(open rollout.Opened, r *rollout.Row) string {
	part, err := open.Read(r, r.Text, nil)
	if err != nil {
		return ""
	}
	return clip(rollout.ResponseIn(part), headLength)
}

// clip cuts a text to n characters, and makes it valid UTF-8.
func clip(text string, n int) string {
	text = text[:min(len(text), n*utf8.UTFMax)]
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	return string(runes[:min(n, len(runes))])
}

// histogram is GET /api/runs/{run}/histogram.
func (s *Studio) histogram(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	filter, match, bins := q.filter(), q.match(), min(max(q.int("bins", 20), 1), 200)
	filter.RewardMin, filter.RewardMax = nil, nil // the bin that was chosen is seen among the others
	if q.err != nil {
		return q.err
	}
	t := s.tableFor(r.Context(), e, filter)
	list := t.Select(filter)
	done := true
	if match != nil {
		found := t.Search(r.Context(), e.folder, list, match, 0, time.Now().Add(scanTime))
		list, done = found.Places, found.Done
	}
	var values []float64
	for _, p := range list {
		if _, row := t.At(p); !math.IsNaN(row.Reward) && !math.IsInf(row.Reward, 0) {
			values = append(values, row.Reward)
		}
	}
	edges, counts := bin(values, bins)
	return answer(w, map[string]any{"edges": edges, "counts": counts, "complete": done})
}

// bin counts values in bins of equal width: from each edge up to the next, which the last bin includes.
func bin(values []float64, n int) (edges []float64, counts []int) {
	if len(values) == 0 {
		return []float64{}, []int{}
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		low, high, n = low-0.5, high+0.5, 1
	}
	width := (high - low) / float64(n)
	counts = make([]int, n)
	for i := range n {
		edges = append(edges, low+float64(float64(i)*width))
	}
	edges = append(edges, high)
	for _, v := range values {
		i := min(int((v-low)/width), n-1)
		for i > 0 && v < edges[i] { // rounding
			i--
		}
		for i < n-1 && v >= edges[i+1] {
			i++
		}
		counts[i]++
	}
	return edges, counts
}

// steps is GET /api/runs/{run}/steps.
func (s *Studio) steps(e *entry, w http.ResponseWriter, r *http.Request) error {
	type line struct {
		Set        string   `json:"set"`
		Step       int      `json:"step"`
		Indexed    bool     `json:"indexed"`
		Samples    *int     `json:"samples"`
		Groups     *int     `json:"groups"`
		RewardMean *float64 `json:"reward_mean"`
		RewardMin  *float64 `json:"reward_min"`
		RewardMax  *float64 `json:"reward_max"`
		NoSignal   *int     `json:"no_signal"`
		Truncated  *int     `json:"truncated"`
	}
	t := s.table(r.Context(), e)
	list := make([]line, 0, len(t.Files))
	for _, f := range t.Files {
		l := line{Set: f.Set, Step: f.Step, Indexed: f.Segment != nil}
		if f.Segment != nil {
			m := measure(f)
			l.Samples, l.Groups, l.NoSignal, l.Truncated = &m.samples, &m.groups, &m.noSignal, &m.truncated
			l.RewardMean, l.RewardMin, l.RewardMax = rollout.Finite(m.mean), rollout.Finite(m.low),
				rollout.Finite(m.high)
		}
		list = append(list, l)
	}
	return answer(w, map[string]any{"steps": list, "indexed": indexedShare(t)})
}

type stepMeasure struct {
	samples, groups, noSignal, truncated int
	mean, low, high                      float64
}

func measure(f *rollout.Indexed) stepMeasure {
	m := stepMeasure{samples: len(f.Rows), groups: len(f.Groups), low: math.Inf(1), high: math.Inf(-1)}
	n, sum := 0, 0.0
	for i := range f.Rows {
		r := &f.Rows[i]
		if r.Stop == "length" || r.Stop == "prompt_truncated" {
			m.truncated++
		}
		if !math.IsNaN(r.Reward) {
			n++
			sum += r.Reward
			m.low, m.high = min(m.low, r.Reward), max(m.high, r.Reward)
		}
	}
	for _, g := range f.Groups {
		if g.Equal {
			m.noSignal++
		}
	}
	m.mean = sum / float64(n)
	return m
}
