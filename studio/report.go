package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// reported are a report's bounds.
const (
	reportCurves  = 24  // metrics that are drawn
	reportPoints  = 400 // of a curve
	reportSamples = 12  // best and worst of the last step, each
	reportText    = 4000
)

// report is GET /api/runs/{run}/report.
func (s *Studio) report(e *entry, w http.ResponseWriter, r *http.Request) error {
	var page bytes.Buffer
	if err := s.writeReport(&page, e, r); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", reportPolicy+"; frame-ancestors 'none'; sandbox")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.html"`, e.id))
	w.Write(page.Bytes()) // an error means that the client left
	return nil
}

// Report writes a run as one HTML file, which needs nothing else. The run is named by its id, its name or its folder.
func (s *Studio) Report(w io.Writer, name string) error {
	for _, e := range s.runs.all() {
		if e.id != name && filepath.Clean(e.run.Path()) != filepath.Clean(name) && e.run.Look().Name != name {
			continue
		}
		r, err := http.NewRequest(http.MethodGet, "/", nil)
		if err != nil {
			return err
		}
		e.refresh(r.Context(), s.events)
		e.lookUp(r.Context(), s.events)
		return s.writeReport(w, e, r)
	}
	return fmt.Errorf("studio: there is no run %q; name it by its name or its folder", name)
}

// reportPolicy is also in the file, which may be opened without a server: it runs and loads nothing.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// reportPage is the data of the template, which escapes all texts.
type reportPage struct {
	Run      Run
	Policy   string
	Style    template.CSS
	Health   []Light
	Curves   []drawing
	Samples  []Sample
	Settings []source.Setting
	Data     string
}

// drawing is a curve as the points of an SVG line.
type drawing struct {
	Name       string
	Points     string
	Low, High  string
	First      int
	Last       int
	LastNumber string
}

func (s *Studio) writeReport(w io.Writer, e *entry, r *http.Request) error {
	log, t := e.curves(), s.table(r.Context(), e)
	page := reportPage{Run: e.line(), Policy: reportPolicy, Style: reportStyle, Health: health(e, log, t, s.opts.Now()),
		Settings: e.run.Settings()}
	curves := map[string]curve.Curve{}
	for _, name := range reportNames(log) {
		steps, values := log.Series(name)
		c := curve.Thin(steps, values, reportPoints, 0, math.MaxInt, noTime)
		curves[name] = c
		page.Curves = append(page.Curves, draw(name, c))
	}
	samples, err := s.reportSamples(e, t)
	if err != nil {
		return err
	}
	page.Samples = samples
	data, err := json.MarshalIndent(map[string]any{"run": page.Run, "health": page.Health, "curves": curves}, "", " ")
	if err != nil {
		return fmt.Errorf("studio: %w", err)
	}
	page.Data = string(data)
	return reportTemplate.Execute(w, page)
}

// reportNames are the metrics that a report draws: reward and evaluations first.
func reportNames(log *curve.Log) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) && len(names) < reportCurves {
			names = append(names, name)
		}
	}
	add(rewardName(log))
	add(log.First(lossNames...))
	all := log.Names()
	for _, name := range all {
		if strings.Contains(name, "accuracy/mean") || evaluationName.MatchString(name) {
			add(name)
		}
	}
	for _, name := range []string{"actor/entropy", "sampler/token_entropy", "train/kl_sample_train_v1", "grad_norm",
		"response_length/mean", "perf/sampled_tokens_per_second", "time/step"} {
		if slices.Contains(all, name) {
			add(name)
		}
	}
	for _, name := range all {
		if strings.HasPrefix(name, "actor/") || strings.HasSuffix(name, "/mean") && !strings.Contains(name, "time/") {
			add(name)
		}
	}
	return names
}

// Size of a drawing, in its own units.
const drawWidth, drawHeight = 600, 120

func draw(name string, c curve.Curve) drawing {
	d := drawing{Name: name}
	n := len(c.Step)
	if n == 0 {
		return d
	}
	low, high := slices.Min(c.Min), slices.Max(c.Max)
	wide, tall := float64(max(1, c.Step[n-1]-c.Step[0])), high-low
	tall = cmp.Or(tall, 1)
	var b strings.Builder
	for i, step := range c.Step {
		fmt.Fprintf(&b, "%.1f,%.1f ", float64(step-c.Step[0])/wide*drawWidth,
			drawHeight-float64((c.Value[i]-low)/tall*drawHeight))
	}
	d.Points, d.First, d.Last = b.String(), c.Step[0], c.Step[n-1]
	d.Low, d.High, d.LastNumber = fmt.Sprintf("%.4g", low), fmt.Sprintf("%.4g", high), fmt.Sprintf("%.4g", c.Value[n-1])
	return d
}

// reportSamples are the best and the worst of the last step that has samples.
func (s *Studio) reportSamples(e *entry, t *rollout.Table) ([]Sample, error) {
	last := -1
	for _, f := range t.Files {
		if f.Set == "" && f.Segment != nil {
			last = max(last, f.Step)
		}
	}
	if last < 0 {
		return nil, nil
	}
	list := t.Select(&rollout.Filter{Steps: []int{last}})
	t.Sort(list, "-reward")
	if len(list) > 2*reportSamples {
		list = append(slices.Clone(list[:reportSamples]), list[len(list)-reportSamples:]...)
	}
	var samples []Sample
	for _, p := range list {
		one, _, err := s.whole(e, t, []rollout.Place{p})
		var known refusal
		if errors.As(err, &known) {
			continue // it was changed meanwhile, or cannot be read: the rest is still a report
		}
		if err != nil {
			return nil, err
		}
		one[0].Prompt, one[0].Response = clip(one[0].Prompt, reportText), clip(one[0].Response, reportText)
		samples = append(samples, one[0])
	}
	return samples, nil
}
