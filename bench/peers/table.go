package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// describe returns a short description of a row.
func (r row) describe() string {
	switch r.kind {
	case train:
		text := fmt.Sprintf("train %d × %d tokens", r.sequences, r.tokens)
		if r.recompute {
			text += ", recomputing"
		}
		return text
	case prefill:
		return fmt.Sprintf("prefill %d tokens", r.tokens)
	}
	return fmt.Sprintf("decode %d × 1 token, context %d", r.sequences, r.tokens)
}

// writeTable writes a line of Markdown for each row and peer.
func writeTable(w io.Writer, results []rowResult) {
	fmt.Fprintln(w, "| model | work | peer, its best setting | trinity tokens/s (quartiles) | peer tokens/s "+
		"(quartiles) | ratio | wanted | n |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range results {
		work := fmt.Sprintf("| %s | %s | %s", r.row.shape.title(), r.row.describe(), r.peer)
		if r.missing != "" {
			fmt.Fprintf(w, "%s | | | – | | %s |\n", work, strings.ReplaceAll(r.missing, "|", "/"))
			continue
		}
		fmt.Fprintf(w, "%s, %s | %s (%s) | %s (%s) | %s | %s | %d |\n", work, r.setting, digits(r.rate(r.ours)),
			r.noise(r.ours),
			digits(r.rate(r.theirs)), r.noise(r.theirs), digits(r.ratio())+r.note(), digits(r.wanted()), len(r.ours))
	}
}

func (r rowResult) wanted() float64 {
	for _, p := range peers() {
		if p.name == r.peer {
			return r.row.wanted(p)
		}
	}
	return math.NaN()
}

// note marks a ratio that is below the wanted one or compares different results.
func (r rowResult) note() string {
	switch {
	case !r.agree():
		return fmt.Sprintf(" (they do not agree: %.4f, %.4f)", r.check[0], r.check[1])
	case r.ratio() < r.wanted():
		return " (behind)"
	}
	return ""
}

// digits prints a number with three significant digits.
func digits(x float64) string {
	if x >= 100 {
		scale := math.Pow(10, math.Floor(math.Log10(x))-2)
		return fmt.Sprintf("%.0f", math.Round(x/scale)*scale)
	}
	return fmt.Sprintf("%.3g", x)
}
