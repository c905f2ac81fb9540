package modelfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Types tells how many tensors have each type and what rounding to it lost, once Encode has written the file.
func (f *File) Types() string {
	var list []string
	for _, l := range f.Losses() {
		text := fmt.Sprintf("%d tensors %s", l.Tensors, l.Type)
		if l.Error > 0 {
			text += fmt.Sprintf(" (rounded by %.2g %%)", 100*l.Error)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Ollama is the Modelfile for the file, which is at path.
func (f *File) Ollama(path string) string {
	var b strings.Builder
	own := strings.TrimSuffix(filepath.Base(path), ".gguf") + ".Modelfile"
	fmt.Fprintf(&b, "# For Ollama: ollama create NAME -f %s\n", own)
	b.WriteString("# trinity wrote this file and has not run Ollama with it. The chat template is in the GGUF file;\n" +
		"# a release of Ollama that does not read it needs a TEMPLATE here.\n")
	fmt.Fprintf(&b, "FROM ./%s\n", filepath.Base(path))
	for _, stop := range f.stops {
		if !strings.ContainsAny(stop, "\"\n") {
			fmt.Fprintf(&b, "PARAMETER stop \"%s\"\n", stop)
		}
	}
	return b.String()
}
