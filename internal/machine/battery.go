// Package machine reads what this machine has and does: memory, file systems, battery, what this process used.
package machine

import (
	"os"
	"path/filepath"
	"strings"
)

// OnBattery reports whether the machine runs on battery. It is false on systems other than Linux.
func OnBattery() bool { return batteryIn("/sys/class/power_supply") }

// batteryIn reads the kernel's folder of power supplies.
func batteryIn(dir string) bool {
	supplies, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	read := func(supply, file string) string {
		raw, err := os.ReadFile(filepath.Join(dir, supply, file))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(raw))
	}
	discharging := false
	for _, s := range supplies {
		switch read(s.Name(), "type") {
		case "Mains", "USB":
			if read(s.Name(), "online") == "1" {
				return false
			}
		case "Battery": // of the machine; a mouse's has scope Device
			discharging = discharging || read(s.Name(), "status") == "Discharging" && read(s.Name(),
				"scope") != "Device"
		}
	}
	return discharging
}
