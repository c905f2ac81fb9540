package connect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// Show prints the settings as a shell takes them.
func (s Settings) Show(w io.Writer) {
	for _, v := range s.Env {
		fmt.Fprintln(w, foreign.Plain(export(v, runtime.GOOS == "windows")))
	}
	line := s.name
	for _, a := range s.Args {
		line += " " + quote(a, runtime.GOOS == "windows")
	}
	fmt.Fprintln(w, foreign.Plain(line))
}

// export sets a variable in a POSIX shell, or in PowerShell.
func export(v Variable, powershell bool) string {
	if powershell {
		return "$env:" + v.Name + " = " + quote(v.Value, true)
	}
	return "export " + v.Name + "=" + quote(v.Value, false)
}

// quote makes one word of text.
func quote(text string, powershell bool) string {
	if powershell {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShowFile prints the file that says the same.
func (s Settings) ShowFile(w io.Writer) {
	fmt.Fprintf(w, "\nor the file %s, and then %s:\n\n%s", s.File, s.Then, s.Text)
}

// Write makes the file. One that exists stays as it is.
func (s Settings) Write() error {
	if err := os.MkdirAll(filepath.Dir(s.File), 0o755); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	f, err := os.OpenFile(s.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // it has a key
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("start: %s exists and is not overwritten; add the settings that --print shows to it, or "+
			"move it away", s.File)
	}
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	_, err = io.WriteString(f, s.Text)
	return errors.Join(err, f.Close())
}
