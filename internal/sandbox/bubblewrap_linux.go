package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// bubblewrap is the first stage as a command: bwrap makes namespaces and mounts and starts the watcher in them.
func (b *Box) bubblewrap(ctx context.Context, s spec) (*exec.Cmd, spec, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, s, err
	}
	s.Mounted = true
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox",
		"--clearenv", "--cap-add", "ALL", "--uid", "0", "--gid", "0"}
	for _, path := range system {
		st, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, s, err
		case st.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return nil, s, err
			}
			args = append(args, "--symlink", to, path)
		default:
			args = append(args, "--ro-bind", path, path)
		}
	}
	args = append(args, "--proc", "/proc")
	for _, d := range devices { // --dev would make a /dev that can be written to, without a limit
		args = append(args, "--dev-bind", "/dev/"+d.is, "/dev/"+d.name)
	}
	for _, link := range links {
		args = append(args, "--symlink", link.to, link.from)
	}
	args = append(args, "--perms", "1777", "--tmpfs", "/tmp", "--ro-bind", program, self)
	for _, dir := range s.Show {
		args = append(args, "--ro-bind", dir.From, dir.To)
	}
	args = append(args, "--remount-ro", "/", "--chdir", "/tmp", "--", self, stageWatch)
	cmd := exec.CommandContext(ctx, b.bwrap, args...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		return nil, s, fmt.Errorf("it maps one user only, and the processes of root are not counted")
	}
	return cmd, s, nil
}
