package web_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// What a run writes while a page is open appears in it.
func TestLive(t *testing.T) {
	b := startChromium(t)
	dir := recorded(t, "gsm8k")
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	p := b.open(t, startStudio(t, dir), "")
	p.until(`document.getElementById("live").textContent == "live"`)
	a := p.run("gsm8k")
	p.at("#/run/" + a + "/steps")
	rows := lines(t, filepath.Join(job, "rollouts", "step_000050.jsonl"))
	fresh := strings.ReplaceAll(strings.Join(rows, "\n"), `"id":"50/`, `"id":"51/`) + "\n"
	appendTo(t, filepath.Join(job, "rollouts", "step_000051.jsonl"), fresh)
	appendTo(t, filepath.Join(job, "metrics.jsonl"), `{"step":51,"critic/rewards/mean":0.987654}`+"\n")
	p.until(`[...document.querySelectorAll("main td a")].some(a => a.textContent == "51")`)
	p.at("#/run/" + a + "/metrics")
	p.until(`document.querySelector("[data-name='critic/rewards/mean'] .readout").textContent == "0.9877"`)
	appendTo(t, filepath.Join(job, "metrics.jsonl"), `{"step":52,"critic/rewards/mean":0.5}`+"\n")
	p.until(`document.querySelector("[data-name='critic/rewards/mean'] .readout").textContent == "0.5"`)
	p.clean("live")
}
