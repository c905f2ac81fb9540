package plugin

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Mentioned are the names that plug-in files register, as far as their text shows it: the position (file:line) by
// registry and name. A configuration is checked with it before Python is started.
type Mentioned map[string]map[string]string

var registers = regexp.MustCompile(
	`\b([A-Z][A-Z_]+)\s*\.\s*register_module\(\s*(?:module_name\s*=\s*|name\s*=\s*)?["']([^"']+)["']`)

// Scan reads the .py files of plug-in folders. Files that cannot be read are skipped.
func Scan(dirs []string) Mentioned {
	found := Mentioned{}
	for _, dir := range dirs {
		files, err := disk.Glob(dir, "*.py")
		if err != nil {
			continue
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				found.scan(file, string(text))
			}
		}
	}
	return found
}

func (m Mentioned) scan(file, text string) {
	for _, at := range registers.FindAllStringSubmatchIndex(text, -1) {
		registry, name := text[at[2]:at[3]], text[at[4]:at[5]]
		if m[registry] == nil {
			m[registry] = map[string]string{}
		}
		m[registry][name] = file + ":" + strconv.Itoa(1+strings.Count(text[:at[0]], "\n"))
	}
}

// Names are the storage types that files have readers for, and why other parts that they register cannot be used.
func (m Mentioned) Names() (readers []string, refused map[string]string) {
	refused = map[string]string{}
	for _, registry := range []string{"ADVANTAGE_FN", "POLICY_LOSS_FN", "KL_FN", "ENTROPY_LOSS_FN", "SAMPLE_STRATEGY",
		"ALGORITHM_TYPE"} {
		for name, place := range m[registry] {
			refused[name] = "what " + place + " registers cannot be used: losses, advantages and sample strategies " +
				"are computed by this program, without torch. Name one of its own (docs/reference/algorithms.md " +
				"lists them), or write it in Go (examples/plugin)"
		}
	}
	for registry, instead := range map[string]string{
		"SELECTORS": "name selector_type: sequential, shuffle, random, offline_easy2hard or difficulty_based",
		"MONITOR":   "name monitor_type: tensorboard, wandb, mlflow or trackio",
	} {
		for name, place := range m[registry] {
			refused[name] = "what " + place + " registers cannot be used from Python: " + instead + ", or bring it " +
				"from a Go program (examples/plugin)"
		}
	}
	return slices.Sorted(maps.Keys(m["READER"])), refused
}
