package plugin

import (
	"os"
	"regexp"
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
