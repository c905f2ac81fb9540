package layout

import (
	"slices"
	"testing"
)

// Of three value heads for each of two key heads, the file has the first of both, the second of both, the third.
func TestTile(t *testing.T) {
	tile := Tile{Keys: 2, Each: 3, Dim: 2, From: 1}
	var rows, back []int64
	for i := range int64(13) {
		rows, back = append(rows, tile.Folder(i)), append(back, tile.File(tile.Folder(i)))
	}
	if want := []int64{0, 1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}; !slices.Equal(rows, want) {
		t.Errorf("the file has the rows %v, want %v", rows, want)
	}
	if want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(back, want) {
		t.Errorf("back in the folder's order they are %v", back)
	}
}
