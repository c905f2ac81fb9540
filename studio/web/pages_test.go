package web_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// view is an address and words that it must show.
type view struct {
	name, hash string
	words      []string
}

// views are all views, for two runs and a sample that got no full reward.
func views(p *tab, a, b string) []view {
	low := p.samples(a, "step=1&reward_max=0.5")[0]
	held := p.samples(a, "set=held-out&step=0")[0]
	run := "#/run/" + a
	return []view{
		{"runs", "#/runs", []string{"gsm8k", "finished", "0.339", "0.903"}},
		{"run", run + "/metrics?with=" + b + "&smooth=0.6", []string{"critic/rewards/mean", "Overview", "Smoothing"}},
		{"steps", run + "/steps", []string{"evaluation held-out", "Without signal"}},
		{"timeline", run + "/timeline", []string{"training", "Sampling"}},
		{"config", run + "/config?own=1", []string{"algorithm.algorithm_type", "examples/tiny/gsm8k.yaml:"}},
		{"step", run + "/step/50", []string{"samples in", "<answer>", "no signal"}},
		{"group", fmt.Sprintf("%s/group/%d/%s", run, low.Step, low.Task),
			[]string{"Prompt", "first difference", "Sample #0"}},
		{"sample", run + "/sample/" + low.ID, []string{"Why the reward is 0.100", "assistant", "Thinking"}},
		{"tokens", run + "/sample/" + low.ID + "?tab=tokens&at=" + p.unlikely(a, low.ID),
			[]string{"<|im_start|>", "Trained on", "Logprob"}},
		{"ask", run + "/sample/" + low.ID + "?tab=ask", nil},
		{"compare", "#/compare?run=" + a + "&run=" + b,
			[]string{"Configuration", "Last reward", "The same task in all runs"}},
		{"task", "#/task?run=" + a + "&run=" + b + "&task=" + held.Key, []string{"Prompt", "mean"}},
	}
}

// Every view shows what it is for, without an error, a refused script or style, or a request that leaves the studio;
// and axe finds nothing to object to in either theme, at 1280 and at 400 pixels.
func TestViews(t *testing.T) {
	b := startChromium(t)
	p := b.open(t, startStudio(t, recorded(t, "gsm8k", "gsm8k-again")), "")
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views(p, p.run("gsm8k"), p.run("gsm8k-again")) {
		more := map[string]bool{"run": true, "step": true, "tokens": true} // also narrow and dark in the short part
		t.Run(v.name, func(t *testing.T) {
			for _, look := range []struct {
				width int
				theme string
			}{{1280, "light"}, {400, "dark"}, {1280, "dark"}, {400, "light"}} {
				large := look.width == 1280 && look.theme == "light"
				narrow := look.width == 400 && look.theme == "dark" && more[v.name]
				if shots() == "" && !large && !narrow {
					continue
				}
				p.t = t
				p.size(look.width, 900)
				p.theme(look.theme)
				p.at(v.hash)
				p.until(`!document.querySelector(".plot:empty") || true`)
				p.has(v.words...)
				p.js(string(axe), nil) // Runtime.evaluate stands above the page's policy
				var found []struct {
					ID, Help string
					Nodes    []struct{ HTML, FailureSummary string }
				}
				p.js(`axe.run(document,
					{runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
					.then(r => r.violations)`, &found)
				for _, f := range found {
					for _, n := range f.Nodes[:min(len(f.Nodes), 3)] {
						t.Errorf("%v: %s: %s\n%.200s\n%s", look, f.ID, f.Help, n.HTML, n.FailureSummary)
					}
				}
				var wide int
				p.js(`document.documentElement.scrollWidth`, &wide)
				if wide > look.width {
					t.Errorf("the page is %d pixels wide in a window of %d", wide, look.width)
				}
				p.clean(v.name)
			}
		})
	}
	p.t = t
}

// A first-time user finds why a sample got a low reward: run, steps, step, a bar of the histogram, a sample.
func TestWhy(t *testing.T) {
	b := startChromium(t)
	p := b.open(t, startStudio(t, recorded(t, "gsm8k")), "")
	p.theme("light")
	click := func(selector, text string) {
		t.Helper()
		find := `[...document.querySelectorAll(` + quote(selector) + `)].find(e => !e.disabled &&
			(e.textContent + (e.getAttribute("aria-label") ?? "")).includes(` + quote(text) + `))`
		p.until(find)
		p.js(find+`.click()`, nil)
	}
	click("main td a", "gsm8k")
	click(".tabs a", "Steps")
	click("main td a", "1")
	p.until(`document.querySelectorAll(".hist-bar:enabled").length == 2`)
	click(".hist-bar", "0.1 to")
	p.until(`location.hash.includes("reward_min=0.1") &&
		[...document.querySelectorAll("tbody tr[data-index] b")].every(b => !b.textContent.startsWith("1.1"))`)
	click("tbody tr[data-index] a", "0.100")
	p.until(`location.hash.includes("/sample/")`)
	p.ready()
	p.has("Why the reward is 0.100", "accuracy", "format_score")
	p.clean("the way to a sample")
}

// Every view can be used without a mouse.
func TestKeyboard(t *testing.T) {
	b := startChromium(t)
	p := b.open(t, startStudio(t, recorded(t, "gsm8k", "gsm8k-again")), "")
	a := p.run("gsm8k")
	at := func(hash string) {
		t.Helper()
		p.until(`location.hash.startsWith(` + quote(hash) + `)`)
		p.ready()
	}
	focus := func(text string) {
		t.Helper()
		p.until(`document.activeElement.textContent.includes(` + quote(text) + `)`)
	}

	p.keys("j")
	p.until(`document.activeElement.closest("tr")?.dataset.index == "0"`)
	p.keys("x", "j", "x", "c")
	at("#/compare?run=")
	p.keys("Escape")
	at("#/runs")
	p.keys("/")
	p.until(`document.activeElement.matches("[data-search]")`)
	p.keys("a", "g", "a", "i", "n", "Escape")
	p.until(`document.querySelectorAll("tbody tr[data-index]").length == 1`)
	p.keys("j")
	focus("gsm8k-again")
	p.keys("Enter")
	at("#/run/")
	p.keys("2")
	p.until(`location.hash.endsWith("/steps")`)
	p.at("#/run/" + a + "/step/1")
	p.keys("]")
	at("#/run/" + a + "/step/2")
	p.keys("[")
	at("#/run/" + a + "/step/1")
	p.keys("j", "j")
	p.until(`document.activeElement.closest("tr")?.dataset.index == "1"`)
	p.keys("k", "Enter")
	at("#/run/" + a + "/sample/")
	p.until(`document.querySelector("a[title^='Next sample']")`)
	p.keys("j")
	p.until(`document.querySelector("main h1").textContent == "Sample #1"`)
	p.keys("2")
	p.until(`document.querySelector(".strip .t")`)
	p.js(`document.querySelector(".strip").focus()`, nil)
	p.keys("ArrowRight", "ArrowRight", "ArrowDown", "n")
	p.until(`document.querySelector(".inspector").textContent.includes("Logprob")`)
	p.keys("?")
	p.until(`document.querySelector("dialog[open]").textContent.includes("Next sample of the group")`)
	p.keys("Escape")
	p.until(`!document.querySelector("dialog")`)
	p.keys("o")
	at("#/run/" + a + "/group/")
	var before, after string
	p.js(`document.documentElement.dataset.theme`, &before)
	p.keys("t")
	p.js(`document.documentElement.dataset.theme`, &after)
	if before == after || !strings.Contains("light dark", after) {
		t.Errorf("t changes the theme from %s to %s", before, after)
	}
	p.clean("the keyboard")
}
