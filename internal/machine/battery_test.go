package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnBattery(t *testing.T) {
	for name, test := range map[string]struct {
		supplies map[string]map[string]string
		pauses   bool
	}{
		"desktop": {nil, false},
		"mouse": {map[string]map[string]string{"m": {"type": "Battery", "status": "Discharging",
			"scope": "Device"}}, false},
		"plugged in": {map[string]map[string]string{"AC": {"type": "Mains", "online": "1"}, "BAT0": {
			"type": "Battery", "status": "Discharging"}}, false},
		"on battery": {map[string]map[string]string{"AC": {"type": "Mains", "online": "0"}, "BAT0": {
			"type": "Battery", "status": "Discharging"}}, true},
		"battery, full": {map[string]map[string]string{"AC": {"type": "Mains", "online": "0"}, "BAT0": {
			"type": "Battery", "status": "Full"}}, false},
	} {
		dir := t.TempDir()
		for supply, files := range test.supplies {
			if err := os.Mkdir(filepath.Join(dir, supply), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, supply, file), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := batteryIn(dir); got != test.pauses {
			t.Errorf("%s: %v", name, got)
		}
	}
}
