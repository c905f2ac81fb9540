// Package plot draws the curves of several runs into one picture, SVG or PNG.
package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// defaultKey is the metric that is drawn when none is chosen: the mean reward of a step's training batch.
const defaultKey = "critic/rewards/mean"

// Format is the kind of picture.
type Format string

// The formats that can be drawn.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

// FormatOf is the format that a file name asks for by its ending.
func FormatOf(path string) (Format, error) {
	f := Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."))
	if f != SVG && f != PNG {
		return "", fmt.Errorf("plot: %s ends neither in .svg nor in .png; name the picture so that its format is known",
			path)
	}
	return f, nil
}

// Curves says what to draw.
type Curves struct {
	Title  string
	Key    string // the metric, for the axis
	Over   string // what the points are over, for the other axis; "" is step
	Zero   bool   // the values' axis begins at 0, and the legend is there
	Window int    // steps of the moving average; below 2 only the values are drawn
	Runs   []Run
}

// Rewards draws the rewards of runs: the values pale, their moving average over ten steps on top.
func Rewards(runs []Run, w io.Writer, format Format) error {
	return Curves{Title: "Reward, mean of 10 steps", Key: defaultKey, Window: 10, Runs: runs}.Draw(w, format)
}

const (
	width  = 8 * vg.Inch
	height = 4.5 * vg.Inch
)

// palette has the colours of runs, from Okabe and Ito's set that the colour-blind can tell apart.
func palette(i int) color.NRGBA {
	colours := []color.NRGBA{
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
		{86, 180, 233, 255},
	}
	return colours[i%len(colours)]
}

// Draw writes the picture. Two calls with equal curves write equal bytes.
func (c Curves) Draw(w io.Writer, format Format) error {
	p, err := c.chart()
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	switch format {
	case SVG:
		canvas := vgsvg.New(width, height)
		p.Draw(inset(draw.New(canvas)))
		_, err = canvas.WriteTo(&picture)
	case PNG:
		canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
		p.Draw(inset(draw.New(canvas)))
		_, err = canvas.WriteTo(&picture)
	default:
		err = fmt.Errorf("the format is %q; it must be %s or %s", format, SVG, PNG)
	}
	if err != nil {
		return fmt.Errorf("plot: cannot draw: %w", err)
	}
	if _, err := w.Write(withFallbackFonts(picture.Bytes(), format)); err != nil {
		return fmt.Errorf("plot: cannot write the picture: %w", err)
	}
	return nil
}

// withFallbackFonts names fonts of the same width for readers of an SVG who do not have Liberation Sans.
func withFallbackFonts(picture []byte, format Format) []byte {
	if format != SVG {
		return picture
	}
	return bytes.ReplaceAll(picture, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
}

func (c Curves) chart() (*plot.Plot, error) {
	p := plot.New()
	c.frame(p)
	points := 0
	for i, run := range c.Runs {
		points += len(run.Points)
		if err := c.add(p, run, palette(i), len(c.Runs)); err != nil {
			return nil, err
		}
	}
	if points == 0 {
		return nil, fmt.Errorf("plot: none of the %d runs has a point to draw", len(c.Runs))
	}
	if c.Zero {
		p.Y.Min = min(p.Y.Min, 0)
	}
	pad(p)
	return p, nil
}

// frame sets title, axes, grid and legend.
func (c Curves) frame(p *plot.Plot) {
	ink := color.Gray{Y: 70}
	p.Title.Text = c.Title
	p.Title.Padding = vg.Points(6)
	p.Title.TextStyle.Font = sans(14)
	p.BackgroundColor = color.White
	p.X.Label.Text = cmp.Or(c.Over, "step")
	p.Y.Label.Text = c.Key
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(11)
		axis.Label.TextStyle.Color = ink
		axis.Label.Padding = vg.Points(5)
		axis.Tick.Label.Font = sans(10)
		axis.Tick.Label.Color = ink
		axis.Tick.Length = vg.Points(4)
		axis.Tick.Marker = ticks{}
		axis.Tick.Color = ink
		axis.Color = ink
		axis.Padding = 0
	}
	p.Legend.TextStyle.Font = sans(10)
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(20)
	p.Legend.Left = true
	p.Legend.Top = !c.Zero
	p.Legend.XOffs = vg.Points(10)
	p.Legend.YOffs = vg.Points(-4)
	if c.Zero {
		p.Legend.YOffs = vg.Points(14)
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{Y: 220}
	grid.Vertical.Color = color.Gray{Y: 232}
	p.Add(grid)
}

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
}

// inset paints the whole canvas white and leaves a margin around what is drawn.
func inset(c draw.Canvas) draw.Canvas {
	const margin = 10
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	return draw.Crop(c, margin, -margin, margin, -margin)
}

// add draws one run: its values, pale when there is an average over them.
func (c Curves) add(p *plot.Plot, run Run, colour color.NRGBA, runs int) error {
	if len(run.Points) == 0 {
		return nil
	}
	raw, err := plotter.NewLine(xys(run.Points))
	if err != nil {
		return fmt.Errorf("plot: run %s: %w", run.Name, err)
	}
	raw.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(1.8)}
	shown := raw
	if c.Window >= 2 {
		pale := colour
		pale.A = uint8(max(40, 110-15*runs))
		raw.LineStyle = draw.LineStyle{Color: pale, Width: vg.Points(1)}
		if shown, err = plotter.NewLine(xys(average(run.Points, c.Window))); err != nil {
			return fmt.Errorf("plot: run %s: %w", run.Name, err)
		}
		shown.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(2)}
		p.Add(raw)
	}
	p.Add(shown)
	p.Legend.Add(" "+run.Name, shown)
	return nil
}

func xys(points []Point) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		out[i].X, out[i].Y = float64(p.Step), p.Value
	}
	return out
}

// average replaces each value by the mean of it and the window-1 values before it, fewer at the start.
func average(points []Point, window int) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		from := max(0, i-window+1)
		sum := 0.0
		for _, q := range points[from : i+1] {
			sum += q.Value
		}
		out[i] = Point{p.Step, sum / float64(i+1-from)}
	}
	return out
}

// pad leaves air around the curves, and room when there is only one value. A span that is no more than the rounding of
// averages is none.
func pad(p *plot.Plot) {
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		span := axis.Max - axis.Min
		if most := max(math.Abs(axis.Min), math.Abs(axis.Max)); span <= float64(1e-9*most) {
			span = max(1, most)
			axis.Min -= float64(span / 2)
			axis.Max += float64(span / 2)
			continue
		}
		axis.Min -= float64(span * 0.02)
		axis.Max += float64(span * 0.05)
	}
}
