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

// Asking again streams an answer beside the old one, and a version's logprobs colour the tokens.
func TestAsk(t *testing.T) {
	b := startChromium(t)
	p := b.open(t, startStudio(t, recorded(t, "gsm8k")), "")
	a := p.run("gsm8k")
	sample := "#/run/" + a + "/sample/" + p.samples(a, "step=1")[0].ID
	p.at(sample + "?tab=ask")
	p.until(`document.querySelector("select[name=checkpoint]").value == "base"`)
	for _, how := range []string{"sample", "continue", "messages", "prompt"} {
		p.js(`(() => {
			const s = document.querySelector("select[name=how]");
			s.value = `+quote(how)+`;
			s.dispatchEvent(new Event("change", {bubbles: true})) })()`, nil)
		p.js(`document.querySelector("main form").requestSubmit()`, nil)
		p.until(`document.querySelector("main [role=status]").textContent.includes("stop: stop")`)
		p.until(`document.querySelector(".beside section + section pre").textContent.replaceAll("↵", "") ==
			document.querySelector(".beside section pre").textContent + "<|im_end|>"`)
	}
	p.at(sample + "?tab=tokens&by=change")
	p.until(`document.querySelectorAll(".strip .p1, .strip .p2").length > 3`)
	p.js(`document.querySelector(".strip .p1, .strip .p2").click()`, nil)
	p.until(`document.querySelector(".inspector").textContent.includes("+0.6931 nats")`)
	p.clean("asking again")
}
