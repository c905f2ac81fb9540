package web_test

import (
	"encoding/json"
	"testing"
)

// Where some steps have no time, the others are drawn at theirs, and a click opens the step that it is on.
func TestStepsWithoutTime(t *testing.T) {
	b := startChromium(t)
	p := b.open(t, startStudio(t, t.TempDir()), "")
	for _, c := range []struct{ what, expression, want string }{
		{"columns", `m.columns([s], {axis: "time"}, (v) => v).data`, "[[0,3,4],[2,4,5]]"},
		{"a band", `m.band([s, s]).time`, "[null,0,null,3,4]"},
		{"a click", `Chart.prototype.stepAt.call({data: [[0, 3, 4]], series: [s], options: {axis: "time"}}, 1)`, "4"},
	} {
		var got json.RawMessage
		p.js(`Promise.all([import("./js/series.js"), import("./js/chart.js")]).then(([m, {Chart}]) => {
			const s = {step: [1, 2, 3, 4, 5], time: [null, 1000, null, 1003, 1004], value: [1, 2, 3, 4, 5]};
			return `+c.expression+`;
		})`, &got)
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
