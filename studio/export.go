package studio

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// exportTime is how long a search for an export may take.
const exportTime = 10 * time.Minute

// export is GET /api/runs/{run}/export: the records as they are, or the table.
func (s *Studio) export(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	filter, match := q.filter(), q.match()
	if q.err != nil {
		return q.err
	}
	t := s.tableFor(r.Context(), e, filter)
	list := t.Select(filter)
	if err := e.sort(r.Context(), t, list, q.values.Get("sort")); err != nil {
		return err
	}
	if match != nil {
		list = t.Search(r.Context(), e.folder, list, match, 0, time.Now().Add(exportTime)).Places
	}
	var write func(io.Writer) error
	format := q.values.Get("format")
	switch format {
	case "jsonl", "":
		format = "jsonl"
		w.Header().Set("Content-Type", "application/x-ndjson")
		write = func(w io.Writer) error { return e.records(w, t, list) }
	case "csv":
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		write = func(w io.Writer) error { return s.csv(w, e, t, list) }
	default:
		return invalid("format=%q is not known; it is jsonl or csv", format)
	}
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, e.id, format))
	if err := write(w); err != nil {
		s.opts.Log.Warn("an export ended early", "run", e.id, "error", err)
	}
	return nil
}

// records writes the records at places.
func (e *entry) records(w io.Writer, t *rollout.Table, list []rollout.Place) error {
	var buf []byte
	return e.each(t, list, func(open rollout.Opened, p rollout.Place) error {
		_, row := t.At(p)
		line, err := open.Read(row, row.Whole(), buf)
		if err != nil {
			return err
		}
		buf = line
		if _, err = w.Write(line); err == nil {
			_, err = w.Write([]byte{'\n'})
		}
		return err
	})
}

// each calls f with each place and its file, open.
func (e *entry) each(t *rollout.Table, list []rollout.Place, f func(rollout.Opened, rollout.Place) error) error {
	for len(list) > 0 {
		at := list[0].File
		open, err := e.folder.Open(t.Files[at].File)
		if err != nil {
			return err
		}
		for len(list) > 0 && list[0].File == at && err == nil {
			err = f(open, list[0])
			list = list[1:]
		}
		open.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

var csvHead = []string{"id", "set", "step", "task", "repeat", "reward", "advantage", "prompt_tokens", "response_tokens",
	"stop", "version", "turns", "tool_calls", "entropy", "signal", "parts", "prompt", "response"}

// csv writes the table with prompts and answers. A cell that a spreadsheet would take for a formula gets a quote in
// front.
func (s *Studio) csv(w io.Writer, e *entry, t *rollout.Table, list []rollout.Place) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	err := e.each(t, list, func(open rollout.Opened, p rollout.Place) error {
		f, row := t.At(p)
		rec, err := readRecord(open, row)
		if err != nil {
			return err
		}
		return out.Write(csvRow(f, int(p.Row), rec))
	})
	out.Flush()
	if err != nil {
		return err
	}
	return out.Error()
}

func csvRow(f *rollout.Indexed, i int, rec *rollout.Record) []string {
	r := row(f, i)
	parts, err := json.Marshal(r.Parts)
	if err != nil {
		parts = nil // numbers are always JSON
	}
	cells := []string{r.ID, r.Set, strconv.Itoa(r.Step), r.Task, strconv.Itoa(r.Repeat), number(r.Reward),
		number(r.Advantage), strconv.Itoa(r.PromptTokens), strconv.Itoa(r.ResponseTokens), r.Stop,
		strconv.Itoa(r.Version), strconv.Itoa(r.Turns), strconv.Itoa(r.ToolCalls), number(r.Entropy),
		strconv.FormatBool(r.Signal), string(parts), rec.Prompt, rec.Response}
	for i, c := range cells {
		if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) && !isNumber(c) {
			cells[i] = "'" + c
		}
	}
	return cells
}

func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(v)
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
