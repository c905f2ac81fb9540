package web_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Samples of other programs show what their files say: a conversation of tinker-cookbook's log tree, with a word about
// the guess, and Trinity-RFT's messages with a tool call. A step's timeline tells grading from sampling.
func TestOthers(t *testing.T) {
	b := startChromium(t)
	dir := t.TempDir()
	for _, name := range []string{"cookbook", "upstream"} {
		from := os.DirFS(filepath.Join("..", "source", "testdata", name))
		if err := os.CopyFS(filepath.Join(dir, name), from); err != nil {
			t.Fatal(err)
		}
	}
	job := filepath.Join(dir, "p", "graded")
	writeHostile(t, job, []string{"one"})
	appendTo(t, filepath.Join(job, "metrics.jsonl"), `{"step":7,"time/step":10,"time/read_experience":6,`+
		`"time/train_step":3,"rollout/time/run_execution/mean":2,"rollout/time/grade/mean":0.5}`+"\n")
	p := b.open(t, startStudio(t, dir), "")

	run := p.run("cookbook")
	p.at("#/run/" + run + "/sample/" + p.samples(run, "q=i+add")[0].ID)
	p.has("The log does not say", "What is 5 and 7?", "I add: it is 12.", "Thinking", "right")
	p.clean("a sample of tinker-cookbook")
	p.picture("cookbook")

	run = p.run("upstream")
	p.at("#/run/" + run + "/sample/" + p.samples(run, "q=seven&sort=-length")[0].ID)
	p.has("How many?", "add", "seven", "tool")
	p.clean("a sample of Trinity-RFT")
	p.picture("upstream")

	p.at("#/run/" + p.run("graded") + "/timeline")
	p.has("sampling", "grading", "1.5 s", "4.5 s")
	p.clean("the timeline")
	p.picture("grading")
}

// picture takes one where the tests keep pictures.
func (p *tab) picture(name string) {
	p.t.Helper()
	if shots() != "" {
		p.shot(filepath.Join(shots(), name+"-1280-light.png"))
	}
}
