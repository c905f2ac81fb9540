package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A rollout of many tokens and a step of many rows stay fluid: the page holds only what is in sight.
func TestLong(t *testing.T) {
	b := startChromium(t)
	tokens, rows := 20000, 3000
	if shots() != "" {
		tokens, rows = 100000, 100000
	}
	dir := t.TempDir()
	job := filepath.Join(dir, "p", "long")
	writeHostile(t, job, []string{"one"})
	appendTo(t, filepath.Join(job, "rollouts", "step_000002.jsonl"), longRecord(t, 2, 0, tokens)+"\n")
	var many strings.Builder
	for i := range rows {
		fmt.Fprintln(&many, longRecord(t, 3, i, 12))
	}
	appendTo(t, filepath.Join(job, "rollouts", "step_000003.jsonl"), many.String())
	p := b.open(t, startStudio(t, dir), "")
	run := p.run("long")
	p.until(fmt.Sprintf(`fetch("api/runs/%s/samples?limit=1").then(r => r.json()).then(r => window.total = r.total),
		window.total === %d`, run, rows+2))

	p.at("#/run/" + run + "/sample/" + p.samples(run, "step=2")[0].ID + "?tab=tokens")
	p.until(`document.querySelector(".strip .t")`)
	p.js(`document.querySelector(".strip").focus()`, nil)
	p.keys("End")
	p.until(fmt.Sprintf(`document.querySelector(".strip .current")?.dataset.i == "%d"`, tokens+9))
	p.keys("ArrowLeft")
	p.until(fmt.Sprintf(`document.querySelector(".strip .current")?.dataset.i == "%d"`, tokens+8))
	p.inSight("tokens")

	p.at("#/run/" + run + "/step/3")
	p.until(fmt.Sprintf(`document.querySelector("table").getAttribute("aria-rowcount") == "%d"`, rows+1))
	p.js(`(() => { const s = document.querySelector(".scroll.tall"); s.scrollTop = s.scrollHeight })()`, nil)
	p.until(fmt.Sprintf(`document.querySelector("tr[data-index='%d'][data-full]")`, rows-1))
	p.inSight("rows")
	p.keys("k")
	p.until(`document.activeElement.closest("tr")`)
	p.clean("long lists")
}

// inSight checks that the page holds few elements, and reports how long the longest frame of a scroll through them was.
func (p *tab) inSight(what string) {
	p.t.Helper()
	var got struct {
		Elements int
		Longest  float64
	}
	p.js(`new Promise(done => {
		const box = document.querySelector(".strip, .scroll.tall"); let n = 0, last = performance.now(), longest = 0;
		(function frame(now) {
			longest = Math.max(longest, now - last); last = now;
			box.scrollTop = box.scrollHeight * (1 - n / 60);
			const elements = document.querySelectorAll("main *").length;
			n++ < 60 ? requestAnimationFrame(frame) : done({elements, longest});
		})(last) })`, &got)
	p.t.Logf("%s: %d elements, longest of 60 frames of a scroll %.0f ms", what, got.Elements, got.Longest)
	if got.Elements > 12000 {
		p.t.Errorf("the page of %s holds %d elements", what, got.Elements)
	}
}

func longRecord(t *testing.T, step, i, n int) string {
	t.Helper()
	logprobs := make([]float32, n)
	for k := range logprobs {
		logprobs[k] = -float32(k%50) / 10
	}
	line, err := json.Marshal(map[string]any{
		"v": 2, "id": fmt.Sprintf("%d/%d/%d/0/%06d", step, i/8, i%8, i), "model_version": step,
		"task_index": i / 8, "prompt": fmt.Sprint("task ", i/8),
		"response": strings.Repeat("word ", n/4), "reward": float64(i%3) / 2, "advantage": 0.5, "stop_reason": "stop",
		"metrics":       map[string]float64{},
		"prompt_tokens": numbers(10), "tokens": numbers(n), "logprobs": logprobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// The first paint is soon. Of several openings the fastest counts, and it is checked in the long part only: a busy
// machine paints late.
func TestFirstPaint(t *testing.T) {
	b := startChromium(t)
	base := startStudio(t, recorded(t, "gsm8k", "gsm8k-again"))
	p := b.open(t, base, "")
	often := map[string]int{"runs": 1}
	if shots() != "" {
		often = map[string]int{"runs": 5, "run": 5, "step": 5, "tokens": 5}
	}
	for _, v := range views(p, p.run("gsm8k"), p.run("gsm8k-again")) {
		fastest := math.Inf(1)
		for range often[v.name] {
			tab := b.open(t, base, v.hash)
			var paint float64
			tab.until(`performance.getEntriesByName("first-contentful-paint").length`)
			tab.js(`performance.getEntriesByName("first-contentful-paint")[0].startTime`, &paint)
			fastest = min(fastest, paint)
		}
		if often[v.name] == 0 {
			continue
		}
		t.Logf("%-6s first paint after %.0f ms", v.name, fastest)
		if shots() != "" && fastest > 500 {
			t.Errorf("%s: first paint after %.0f ms", v.name, fastest)
		}
	}
}

// TestPictures takes the pictures of docs/studio.
func TestPictures(t *testing.T) {
	if shots() == "" {
		t.Skip("bench/studio-browser takes the pictures")
	}
	if err := os.MkdirAll(shots(), 0o755); err != nil {
		t.Fatal(err)
	}
	b := startChromium(t)
	dir, names := jobs(), []string{"gsm8k", "gsm8k-seed2"}
	if dir == "" {
		dir = recorded(t, names...)
	}
	p := b.open(t, startTrinity(t, dir), "")
	for _, v := range append(views(p, p.run(names[0]), p.run(names[1])), realViews(p)...) {
		for _, width := range []int{1280, 400} {
			for _, theme := range []string{"light", "dark"} {
				p.size(width, 860)
				p.theme(theme)
				p.at(v.hash)
				p.until(`[...document.querySelectorAll(".plot")]
					.filter(e => e.getBoundingClientRect().top < innerHeight).every(e => e.childElementCount)`)
				if v.name == "ask" {
					p.js(`document.querySelector("main form").requestSubmit()`, nil)
					p.until(`document.querySelector("main [role=status]").textContent.includes("stop: ")`)
				}
				p.js(`new Promise(done => setTimeout(done, 300))`, nil)
				file := filepath.Join(shots(), fmt.Sprintf("%s-%d-%s.png", v.name, width, theme))
				p.shot(file)
				fewer(t, file)
			}
		}
	}
}

// realViews are those of a run on a real model, where the folder has one: the way from its curves to the sample of a
// group with signal that ended by itself and is wrong, and to its tokens.
func realViews(p *tab) []view {
	var l listing
	p.js(`fetch("api/runs").then(r => r.json())`, &l)
	for _, r := range l.Runs {
		if !strings.HasPrefix(r.Name, "smollm2") {
			continue
		}
		low := p.samples(r.ID, "step=1&signal=1&reward_max=0.5&stop=stop&sort=-length")[0]
		run := "#/run/" + r.ID
		hash := run + "/sample/" + low.ID
		return []view{{"real-run", run + "/metrics", nil}, {"real-step", run + "/step/1", nil},
			{"real-group", run + "/group/1/" + low.Task, nil}, {"real-sample", hash, nil},
			{"real-tokens", hash + "?tab=tokens&at=" + p.unlikely(r.ID, low.ID), nil},
			{"real-entropy", hash + "?tab=tokens&by=entropy&at=" + p.unlikely(r.ID, low.ID), nil}}
	}
	return nil
}
