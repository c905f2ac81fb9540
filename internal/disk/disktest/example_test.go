package disktest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// A counter keeps every number it promised.
func ExampleEveryCrash() {
	_ = func(t *testing.T) {
		disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
			t.Parallel() // the cases are independent
			path, promised := filepath.Join(dir, "count"), 0
			read := func() (n int) {
				if data, err := os.ReadFile(path); err == nil {
					fmt.Sscan(string(data), &n)
				}
				return n
			}
			count := func(fs disk.FS) error { // to three, from where the last process was stopped
				n := read()
				if n < promised {
					return fmt.Errorf("the file has %d, and %d was promised", n, promised)
				}
				for ; n < 3; promised = n {
					n++
					if err := disk.WriteFile(fs, path, []byte(fmt.Sprint(n))); err != nil {
						return err
					}
				}
				return nil
			}
			return count, func() {
				if n := read(); n != 3 {
					t.Errorf("the file has %d, want 3", n)
				}
			}
		})
	}
}
