package disk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// A sealed file can be read back, and every mutation of it is refused or changes nothing.
func TestSealedJSON(t *testing.T) {
	type state struct {
		Step  int               `json:"step"`
		Model string            `json:"model"`
		More  map[string]string `json:"more,omitempty"`
	}
	path := filepath.Join(disktest.TempDir(t), "state.json")
	for _, want := range []state{{}, {Step: 7, Model: "s:train:0", More: map[string]string{"a": "}", "crc32c": "no"}}} {
		if err := disk.WriteJSON(disk.OS(), path, want); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil || !json.Valid(whole) {
			t.Fatalf("%s, %v", whole, err)
		}
		var got state
		if err := disk.ReadJSON(path, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
		for at := range whole {
			for bit := range 8 {
				bad := append([]byte{}, whole...)
				bad[at] ^= 1 << bit
				for _, mutated := range [][]byte{bad, whole[:at]} {
					if err := os.WriteFile(path, mutated, 0o644); err != nil {
						t.Fatal(err)
					}
					var got state
					if err := disk.ReadJSON(path, &got); err == nil && !reflect.DeepEqual(got, want) {
						t.Fatalf("byte %d: %q reads as %+v", at, mutated, got)
					}
				}
			}
		}
	}
	if err := os.WriteFile(path, []byte(`{"step": 3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var got state
	if err := disk.ReadJSON(path, &got); err != nil || got.Step != 3 {
		t.Errorf("a file without a checksum: %+v, %v", got, err)
	}
}
