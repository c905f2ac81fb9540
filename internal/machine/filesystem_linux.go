package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FileSystem names the file system of a folder. A file system in memory is an error: its fsync costs nothing.
func FileSystem(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", err
	}
	switch st.Type {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return "", fmt.Errorf("%s is in memory, where fsync costs nothing", dir)
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", nil
	case unix.XFS_SUPER_MAGIC:
		return "xfs", nil
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", nil
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs", nil
	}
	return fmt.Sprintf("file system %#x", st.Type), nil
}
