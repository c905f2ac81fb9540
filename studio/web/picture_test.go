package web_test

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"
)

// fewer writes a picture again with the 256 most frequent of those colours that differ enough. It is a third as large.
func fewer(t *testing.T, file string) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	picture, err := png.Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	box := picture.Bounds()
	count := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[rgba(picture.At(x, y))]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	var palette color.Palette
	for _, c := range most {
		if len(palette) < 256 && (len(palette) < 16 || apart(c, palette[palette.Index(c)].(color.RGBA))) {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range most {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[rgba(picture.At(x, y))])
		}
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small); err != nil {
		t.Fatal(err)
	}
}

// apart reports that two colours can be told from each other.
func apart(a, b color.RGBA) bool {
	r, g, blue := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r+g*g+blue*blue > 160
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }
