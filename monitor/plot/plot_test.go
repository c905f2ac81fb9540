package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rising is a curve like that of a run that learns: from low to high with a wobble.
func rising(name string, n int, phase float64) Run {
	r := Run{Name: name}
	for i := 1; i <= n; i++ {
		x := float64(i)
		r.Points = append(r.Points, Point{i, 0.4 + 0.45*(1-math.Exp(-x/15)) + 0.06*math.Sin(3*x+phase)*math.Cos(
			x*phase)})
	}
	return r
}

func threeSeeds() []Run {
	return []Run{rising("seed 1", 50, 1), rising("seed 2", 50, 2.5), rising("seed 3", 50, 4)}
}

func drawn(t *testing.T, runs []Run, format Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Rewards(runs, &b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSVGIsWellFormedAndSaysWhatItShows(t *testing.T) {
	svg := drawn(t, threeSeeds(), SVG)
	d := xml.NewDecoder(bytes.NewReader(svg))
	var text []string
	paths := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text = append(text, strings.TrimSpace(string(token)))
		case xml.StartElement:
			if token.Name.Local == "path" {
				paths++
			}
		}
	}
	for _, want := range []string{"Reward, mean of 10 steps", "step", defaultKey, "seed 1", "seed 2", "seed 3", "0.5",
		"50"} {
		if !slices.Contains(text, want) {
			t.Errorf("the picture does not say %q; it says %q", want, text)
		}
	}
	if paths < 6 {
		t.Errorf("%d paths, want the values and the average of three runs", paths)
	}
}

func TestPNGHasTheRunsColours(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(drawn(t, threeSeeds(), PNG)))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[[3]uint32]int)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	for i := range 3 {
		c := palette(i)
		if n := seen[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}]; n < 200 {
			t.Errorf("run %d has %d pixels of its colour", i, n)
		}
	}
}

func TestDrawingIsRepeatable(t *testing.T) {
	for _, f := range []Format{SVG, PNG} {
		if !bytes.Equal(drawn(t, threeSeeds(), f), drawn(t, threeSeeds(), f)) {
			t.Errorf("two %s of one run differ", f)
		}
	}
}

func TestOddCurves(t *testing.T) {
	for name, runs := range map[string][]Run{
		"one point":   {{Name: "a", Points: []Point{{1, 0.5}}}},
		"a flat line": {{Name: "a", Points: []Point{{1, 0}, {2, 0}}}},
		"flat but for rounding": {
			{Name: "a", Points: []Point{{1, 0.1}, {2, 0.1 + 1e-17}, {3, math.Nextafter(0.1, 1)}}}},
		"one run without": {{Name: "empty"}, rising("b", 3, 1)},
		"tiny values":     {{Name: "a", Points: []Point{{1, 1e-9}, {2, 3e-9}}}},
		"many runs": {rising("1", 9, 1), rising("2", 9, 2), rising("3", 9, 3), rising("4", 9, 4),
			rising("5", 9, 5), rising("6", 9, 6), rising("7", 9, 7)},
	} {
		if svg := drawn(t, runs, SVG); bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: the picture has NaN or Inf in it", name)
		}
	}
	if err := Rewards([]Run{{Name: "a"}}, io.Discard, SVG); err == nil ||
		!strings.Contains(err.Error(), "none of the 1 runs has a point") {
		t.Errorf("nothing to draw: %v", err)
	}
	if err := Rewards(threeSeeds(), io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), `"gif"`) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestAverage(t *testing.T) {
	got := average([]Point{{1, 1}, {2, 3}, {5, 5}, {6, 7}}, 3)
	want := []Point{{1, 1}, {2, 2}, {5, 3}, {6, 5}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		want      string
	}{
		{0.38, 0.93, "0.4 0.5 0.6 0.7 0.8 0.9"},
		{-0.1, 1.1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 50, "0 10 20 30 40 50"},
		{1000, 9000, "1000 2000 3000 4000 5000 6000 7000 8000 9000"},
	} {
		var labels []string
		for _, m := range (ticks{}).Ticks(tt.low, tt.high) {
			labels = append(labels, m.Label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("ticks of %v to %v = %s, want %s", tt.low, tt.high, got, tt.want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my-run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "metrics.jsonl")
	lines := `{"step":0,"eval/test/accuracy/mean@1":0.4}
{"step":1,"critic/rewards/mean":0.5}
{"step":2,"critic/rewards/mean":null}
{"step":3,"critic/rewards/mean":0.75}
{"step":4,"crit`
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, dir + "/", file} {
		got, err := Load(path, defaultKey)
		if err != nil || got.Name != "my-run" || !slices.Equal(got.Points, []Point{{1, 0.5}, {3, 0.75}}) {
			t.Errorf("Load(%s) = %v, %v", path, got, err)
		}
	}
	want := fmt.Sprintf("%q in its 4 steps; it has critic/rewards/mean, eval/test/accuracy/mean@1", "reward")
	if _, err := Load(dir, "reward"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error of a metric that is not there = %v", err)
	}
	if _, err := Load(filepath.Join(dir, "nowhere"), defaultKey); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error of a run that is not there = %v", err)
	}
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a/b.svg": SVG, "b.PNG": PNG} {
		if got, err := FormatOf(path); got != want || err != nil {
			t.Errorf("FormatOf(%s) = %s, %v", path, got, err)
		}
	}
	if _, err := FormatOf("reward.jpg"); err == nil {
		t.Error("a jpg is drawn")
	}
}
