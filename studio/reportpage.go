package studio

import (
	"fmt"
	"html/template"
)

const reportStyle template.CSS = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem }
figure { margin: 0; border: 1px solid #8888; border-radius: 6px; padding: .6rem }
svg { width: 100%; height: 7rem } polyline { fill: none; stroke: currentColor; stroke-width: 2 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid #8888; padding-left: .6rem }
.ok::before { content: "● "; color: #1a7f37 } .warn::before { content: "▲ "; color: #b35900 }
.bad::before { content: "■ "; color: #cf222e } .unknown::before { content: "○ " }
`

// reportFuncs are the functions that the template calls.
var reportFuncs = template.New("report").Funcs(template.FuncMap{"number": shown})

// reportTemplate is a report. html/template escapes every text by its place.
var reportTemplate = template.Must(reportFuncs.Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Run.Name}}</title><style>{{.Style}}</style></head><body>
<h1>{{.Run.Name}}</h1>
<table>
<tr><th>State</th><td>{{.Run.State}}: {{.Run.Why}}</td></tr>
<tr><th>Model</th><td>{{.Run.Model}}</td></tr>
<tr><th>Algorithm</th><td>{{.Run.Algorithm}}</td></tr>
<tr><th>Steps</th><td>{{.Run.Step}}{{with .Run.Steps}} of {{.}}{{end}}</td></tr>
{{with .Run.Evaluation}}<tr><th>{{.Name}}</th><td>{{number .Before}} → {{number .After}}</td></tr>{{end}}
</table>
<h2>Health</h2>
<table>{{range .Health}}<tr><th class="{{.State}}">{{.Name}}</th><td>{{.Reason}}</td></tr>{{end}}</table>
<h2>Metrics</h2>
<div class="curves">{{range .Curves}}<figure><figcaption>{{.Name}}: {{.LastNumber}}</figcaption>
<svg viewBox="0 0 600 120" preserveAspectRatio="none" role="img"
 aria-label="{{.Name}} from step {{.First}} to {{.Last}}, between {{.Low}} and {{.High}}">
<polyline points="{{.Points}}" vector-effect="non-scaling-stroke"/></svg>
<small>steps {{.First}} to {{.Last}}, {{.Low}} to {{.High}}</small></figure>
{{end}}</div>
{{if .Samples}}<h2>Samples of the last step: the best and the worst</h2>
{{range .Samples}}<details><summary>reward {{number .Reward}}, {{.TaskName}} #{{.Repeat}}, {{.ResponseTokens}} tokens,
 {{.Stop}}{{with .Grade}}{{with .Reason}}: {{.}}{{end}}{{end}}</summary>
<pre dir="auto">{{.Prompt}}</pre><pre dir="auto">{{.Response}}</pre></details>
{{end}}{{end}}
{{if .Settings}}<h2>Configuration</h2><details><summary>{{len .Settings}} keys</summary>
<table>{{range .Settings}}<tr><th>{{.Key}}</th><td>{{.Value}}</td><td>{{.Origin}}</td></tr>
{{end}}</table></details>{{end}}
<h2>Data</h2><details><summary>as JSON</summary><pre>{{.Data}}</pre></details>
</body></html>
`))

func shown(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.4g", *v)
}
