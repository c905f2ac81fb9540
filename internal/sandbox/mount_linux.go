package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// system are the folders of the system that a program sees, if they exist. A link stays a link.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"}

// devices are the devices that a program sees in /dev, and which of this machine they are. full reads as zero does, and
// cannot be mapped: what zero gives to a shared mapping stays, in no process, while one page of it is mapped.
var devices = []struct{ name, is string }{
	{"null", "null"}, {"zero", "full"}, {"full", "full"}, {"random", "random"}, {"urandom", "urandom"},
}

// links are the links in /dev. Shared memory is in /tmp, whose size is limited.
var links = []struct{ from, to string }{
	{"/dev/shm", "/tmp"}, {"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
}

// passwd and group name the users of the sandbox.
const (
	passwd = "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
	group  = "root:x:0:\nnogroup:x:65534:\n"
)

// base is the folder over which a new file system is mounted. It is only hidden in this namespace, and every system has
// it.
const base = "/tmp"

// mountAll replaces the namespace's file system: the system's folders and those in s, read-only, and an empty /tmp.
// notes says what is missing.
func mountAll(s *spec) (notes []string, err error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	if err := step("make mounts private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
		return nil, err
	}
	if err := freshRoot(); err != nil {
		return nil, err
	}
	for _, path := range system {
		if err := showSystem(path); err != nil {
			return nil, err
		}
	}
	if err := mountTmp(s.Limits); err != nil { // first: a folder to show may lie in /tmp
		return nil, err
	}
	for _, dir := range s.Show {
		if err := show("/old"+dir.From, "/new"+dir.To, unix.MOUNT_ATTR_NODEV); err != nil {
			return nil, err
		}
	}
	for _, d := range devices {
		err := show("/old/dev/"+d.is, "/new/dev/"+d.name, unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return nil, err
		}
	}
	if notes, err = dynamic(program); err != nil {
		return nil, err
	}
	return notes, leaveOld()
}

// mountTmp mounts /tmp, the one writable folder: in memory, with the limits of the disk.
func mountTmp(l Limits) error {
	options := fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", l.Disk, max(64, l.Disk>>12))
	return errors.Join(os.Mkdir("/new/tmp", 0o755),
		step("mount /tmp", unix.Mount("tmpfs", "/new/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)))
}

// step names what failed.
func step(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// freshRoot makes an empty root with what is there now under /old and what is to be under /new.
func freshRoot() error {
	return errors.Join(
		step("mount a tmpfs", unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m")),
		step("prepare the root", errors.Join(os.Mkdir(base+"/old", 0o755), os.Mkdir(base+"/new", 0o755))),
		step("pivot_root", unix.PivotRoot(base, base+"/old")),
		step("chdir", unix.Chdir("/")),
		step("mount the new root", unix.Mount("tmpfs", "/new", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
			"mode=0755,size=1m")),
	)
}

// showSystem shows a folder or file of the system, if there is one.
func showSystem(path string) error {
	st, err := os.Lstat("/old" + path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&os.ModeSymlink != 0:
		to, err := os.Readlink("/old" + path)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir("/new"+path), 0o755), os.Symlink(to, "/new"+path))
	}
	return show("/old"+path, "/new"+path, unix.MOUNT_ATTR_NODEV)
}

// show makes a folder or file visible in another place, read-only, with all that is mounted in it.
func show(from, to string, attr uint64) error {
	st, err := os.Stat(from)
	if err != nil {
		return step("show "+strings.TrimPrefix(from, "/old"), err)
	}
	if _, err := os.Stat(to); err == nil { // in a folder that is shown already
		if inside(to) {
			return nil
		}
	}
	if st.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o444)
	}
	name := strings.TrimPrefix(from, "/old")
	if err != nil {
		return step("show "+name, err)
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return step("bind "+name, err)
	}
	a := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | attr}
	err = unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &a)
	if errors.Is(err, unix.ENOSYS) {
		return errors.New("mount_setattr is missing: the kernel is older than Linux 5.12")
	}
	return step("make "+name+" read-only", err)
}

// inside reports whether a path of the new root lies on another mount than the root's own.
func inside(path string) bool {
	var root, at unix.Stat_t
	return unix.Stat("/new", &root) == nil && unix.Stat(path, &at) == nil && root.Dev != at.Dev
}

// dynamic mounts /proc and fills in the rest of /dev and /etc. Without /proc, this program itself has to be shown: the
// watcher finds it there.
func dynamic(program string) (notes []string, err error) {
	for _, dir := range []string{"/new/proc", "/new/etc", "/new/old"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if unix.Mount("proc", "/new/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") != nil {
		notes = append(notes, "/proc cannot be mounted, so memory and CPU time are limited for each process alone")
		if err := show("/old"+program, "/new"+self, unix.MOUNT_ATTR_NODEV); err != nil {
			return nil, err
		}
	}
	for _, link := range links {
		if err := os.Symlink(link.to, "/new"+link.from); err != nil {
			return nil, err
		}
	}
	return notes, errors.Join(
		os.WriteFile("/new/etc/passwd", []byte(passwd), 0o444), os.WriteFile("/new/etc/group", []byte(group), 0o444),
		unix.Sethostname([]byte("sandbox")))
}

// leaveOld makes the new root the only one, and read-only.
func leaveOld() error {
	return errors.Join(
		step("pivot_root", unix.PivotRoot("/new", "/new/old")),
		step("chdir", unix.Chdir("/tmp")),
		step("unmount the old root", unix.Unmount("/old", unix.MNT_DETACH)),
		step("remove the old root", os.Remove("/old")),
		step("make the root read-only", unix.MountSetattr(unix.AT_FDCWD, "/", 0,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})),
	)
}
