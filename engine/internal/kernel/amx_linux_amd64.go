package kernel

import "golang.org/x/sys/unix"

// allowTiles asks the system for the tiles of AMX, which it grants to a process for its lifetime (Linux,
// Documentation/arch/x86/xstate.rst: arch_prctl ARCH_REQ_XCOMP_PERM of feature 18, XTILEDATA).
func allowTiles() bool {
	const requestPermission, tileData = 0x1023, 18
	_, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
