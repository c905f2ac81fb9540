// Command bench lists the programs below this folder and runs one of them: from the root of the repository,
//
//	go run ./bench                lists them
//	go run ./bench NAME [ARGS]    runs one and writes what it prints to docs/results/NAME.log
//
// A program is a folder with main.go or run.sh. Three lines of its leading comment say what it does, what it needs and
// how long it takes (heads.go). The log has the standard output, below a line with the processor, the commit and the
// date. The old log stays if the program prints nothing, prints a line that begins with "skipped:", or is interrupted.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	code, err := bench(os.Args[1:], os.Stdout, "docs/results")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// bench does what args ask for and returns the exit code, which is the program's if one ran.
func bench(args []string, out io.Writer, results string) (int, error) {
	all, err := heads("bench")
	if err != nil {
		return 1, err
	}
	if len(args) == 0 {
		for _, h := range all {
			fmt.Fprintf(out, "%-18s %s\n%-18s needs %s; takes %s\n", h.Name, h.Does, "", h.Needs, h.Takes)
		}
		return 0, nil
	}
	at := slices.IndexFunc(all, func(h head) bool { return h.Name == args[0] })
	if at < 0 {
		return 2, fmt.Errorf("there is no program bench/%s: go run ./bench lists them", args[0])
	}
	command, err := all[at].command(args[1:])
	if err != nil {
		return 1, err
	}
	var log bytes.Buffer
	command.Stdout, command.Stderr = io.MultiWriter(out, &log), os.Stderr
	ended := command.Run()
	if exit := (*exec.ExitError)(nil); ended != nil && !errors.As(ended, &exit) {
		return 1, ended
	}
	code := command.ProcessState.ExitCode()
	if code < 0 {
		return 1, fmt.Errorf("%s: %v", args[0], ended)
	}
	if log.Len() > 0 && !skipped(log.Bytes()) {
		err = os.WriteFile(filepath.Join(results, args[0]+".log"), append([]byte(where()), log.Bytes()...), 0o644)
	}
	if err != nil && code == 0 {
		code = 1
	}
	return code, err
}

// command builds a program, since go run would hide its exit code.
func (h head) command(args []string) (*exec.Cmd, error) {
	if filepath.Ext(h.file) == ".sh" {
		return exec.Command("bash", append([]string{h.file}, args...)...), nil
	}
	binary := filepath.Join("bin", "bench", h.Name)
	build := exec.Command("go", "build", "-o", binary, "./bench/"+h.Name)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return exec.Command(binary, args...), build.Run()
}

func skipped(log []byte) bool {
	return bytes.Contains(append([]byte("\n"), log...), []byte("\nskipped:"))
}

// where is the first line of a log: processor, commit and date.
func where() string {
	processor := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(info), "model name"); ok {
			rest, _, _ = strings.Cut(rest, "\n")
			processor = strings.Trim(rest, "\t :")
		}
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		commit = []byte("no commit")
	}
	return fmt.Sprintf("# %s, %d processors; %s; %s\n", processor, runtime.NumCPU(), bytes.TrimSpace(commit),
		time.Now().Format(time.DateOnly))
}
