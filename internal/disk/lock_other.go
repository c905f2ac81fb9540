//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile is not supported on this system.
func lockFile(*os.File) error { return fmt.Errorf("%w on %s", errors.ErrUnsupported, runtime.GOOS) }

func ending(int) bool { return false }
