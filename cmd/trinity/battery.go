package main

import (
	"os"
	"path/filepath"
	"strings"
)

// onBattery says why a worker pauses: the machine runs on battery. It is "" on other systems than Linux.
func onBattery() string { return batteryIn("/sys/class/power_supply") }

// batteryIn reads the kernel's folder of power supplies.
func batteryIn(dir string) string {
	supplies, err := os.ReadDir(dir)
	if err != nil {
		return ""
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
				return ""
			}
		case "Battery": // of the machine; a mouse's has scope Device
			discharging = discharging || read(s.Name(), "status") == "Discharging" && read(s.Name(),
				"scope") != "Device"
		}
	}
	if discharging {
		return "the machine runs on battery (--battery goes on)"
	}
	return ""
}
