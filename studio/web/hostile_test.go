package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile are texts that try to run a script, to load something, or to be read as something else.
var hostile = []string{
	`<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><svg onload="window.hacked = 3">`,
	`</pre></main><iframe srcdoc="<script>parent.hacked = 4</script>"></iframe>` +
		`<a href="javascript:window.hacked = 5">click</a>`,
	`$\href{javascript:window.hacked=6}{x}$ $$\htmlData{x=y}{\includegraphics{https://example.com/x.png}}$$ ` +
		`$\def\a{\a\a}\a$ \[\frac{1}{2}\] \boxed{42}`,
	"NUL \x00 and escape \x1b[31m, right-to-left \u202egnp.exe\u202c, " +
		"isolate \u2067abc\u2069, zero\u200bwidth, شكرا, עברית",
	"emoji 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽, private \ue000, tag \U000e0041, lone \ufffd, combining Z̷̢̛͎͔̭͑͗͝a̴͉̩͠l̷̰̈́g̸̱͝o̷͔̕",
	`{{constructor.constructor("window.hacked = 7")()}} ${window.hacked = 8} %3Cscript%3E "); window.hacked = 9; ("`,
}

// Whatever a rollout has in it is shown as text, in every view, and runs nothing.
func TestHostile(t *testing.T) {
	b := startChromium(t)
	dir := t.TempDir()
	writeHostile(t, filepath.Join(dir, "p", `<img src=x onerror=hacked=1>`), hostile)
	p := b.open(t, startStudio(t, dir), "")
	run := p.run(`<img src=x onerror=hacked=1>`)
	rows := p.samples(run, "step=1")
	at := "#/run/" + run
	hashes := []string{"#/runs", at, at + "/steps", at + "/step/1", at + "/config", at + "/step/1?q=%3Cscript",
		at + "/group/1/" + rows[0].Task, "#/task?run=" + run + "&task=" + rows[0].Key}
	for _, r := range rows {
		for _, tab := range []string{"conversation", "tokens", "ask", "record"} {
			hashes = append(hashes, "#/run/"+run+"/sample/"+r.ID+"?tab="+tab)
		}
	}
	for _, hash := range hashes {
		p.at(hash)
		p.js(`new Promise(done => requestIdleCallback(() => requestIdleCallback(done)))`, nil) // what is late is drawn
		var bad []string
		p.js(`(() => {
			const names = "img, script, iframe, object, embed, form[action], base";
			const bad = [...document.querySelector("main").querySelectorAll(names)].map(e => e.outerHTML.slice(0, 200));
			for (const e of document.querySelectorAll("main *")) for (const a of e.attributes) {
				const leaves = /href|src/.test(a.name) && /^\s*(javascript|data|https?):/i.test(a.value);
				if (/^on/i.test(a.name) || leaves) bad.push(a.name + "=" + a.value);
			}
			if (window.hacked !== undefined) bad.push("a script ran: " + window.hacked);
			return bad })()`, &bad)
		for _, found := range bad {
			t.Errorf("%s: %s", hash, found)
		}
		p.clean(hash)
	}
	for i, r := range rows {
		p.at("#/run/" + run + "/sample/" + r.ID)
		switch r.ID {
		case rows[0].ID:
			p.has(hostile[0])
		case rows[3].ID:
			p.has("NUL NUL", "ESC[31m", "U+202Egnp.exe", "U+200B", "شكرا")
		case rows[4].ID:
			p.has("👩‍👩‍👧‍👦", "🏳️‍🌈", "U+E000", "U+E0041")
		case rows[2].ID:
			p.until(`document.querySelector("main .katex .mfrac")`)
			p.has(`\href{javascript:`)
		}
		p.clean(fmt.Sprintf("sample %d", i))
	}
}

// writeHostile writes a job whose single step has one sample of each text.
func writeHostile(t *testing.T, job string, texts []string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(job, "rollouts"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, text := range texts {
		n := len(text)%40 + 20
		calls := []map[string]any{{"name": hostile[0], "arguments": map[string]string{"x": text}}}
		line, err := json.Marshal(map[string]any{
			"v": 2, "id": fmt.Sprintf("1/0/%d/0/00000%d", i, i), "model_version": 0, "task_index": 0,
			"prompt": "say " + hostile[0], "response": text,
			"reward": float64(i) / 4, "advantage": 0.5, "stop_reason": "stop",
			"metrics": map[string]float64{hostile[0]: 1}, "reward_parts": map[string]float64{hostile[1]: 0},
			"grade": map[string]string{"extracted": text, "expected": hostile[0], "verdict": hostile[1]},
			"messages": []map[string]any{{"role": "user", "content": "say " + hostile[0]},
				{"role": hostile[0], "content": text, "thinking": text, "turn": 1, "tool_calls": calls}},
			"board": text, "prompt_tokens": numbers(10), "tokens": numbers(n), "logprobs": make([]float32, n),
		})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	appendTo(t, filepath.Join(job, "rollouts", "step_000001.jsonl"), out.String())
	metrics := `{"step":1,"critic/rewards/mean":0.5,` + quote(hostile[0]) + `:1}` + "\n"
	appendTo(t, filepath.Join(job, "metrics.jsonl"), metrics)
	recordedRun, err := os.ReadFile("testdata/job/run.json")
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, filepath.Join(job, "run.json"), string(recordedRun))
}

// numbers are ids of tokens, all of which the recorded run's tokenizer knows.
func numbers(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i * 7 % 687
	}
	return ids
}
