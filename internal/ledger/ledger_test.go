package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

func open(t *testing.T, path string) (*Log, []string) {
	t.Helper()
	var got []string
	l, err := Open(disk.OS(), path, func(kind byte, payload []byte) error {
		got = append(got, string(kind)+string(payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, got
}

func add(t *testing.T, l *Log, rec string) {
	t.Helper()
	at, err := l.Append(rec[0], []byte(rec[1:]))
	if err == nil {
		err = l.Sync(at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, path string, want ...string) {
	t.Helper()
	l, got := open(t, path)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := Check(path, func(byte, []byte) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestAppendAndRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, _ := open(t, path)
	add(t, l, "Aone")
	add(t, l, "B")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, path, "Aone", "B")
	l, _ = open(t, path)
	if _, err := l.Append('C', []byte("never written by itself")); err != nil {
		t.Fatal(err)
	}
	if err := l.Rewrite(func(add func(byte, []byte)) { add('Z', []byte("all")) }); err != nil {
		t.Fatal(err)
	}
	add(t, l, "Dafter")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, path, "Zall", "Dafter")
}

func TestTornEndIsCutOtherDamageIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, _ := open(t, path)
	add(t, l, "Aone")
	size := l.Size()
	add(t, l, "Btwo")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := size + 1; n < int64(len(whole)); n++ {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Check(path, func(byte, []byte) error { return nil }); err == nil {
			t.Errorf("Check did not see a tear at byte %d", n)
		}
		check(t, path, "Aone")
	}
	whole[len(header)+frame+1] ^= 1
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(disk.OS(), path, func(byte, []byte) error { return nil }); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want one that names %s", err, path)
	}
}

func TestConcurrentSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, _ := open(t, path)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			at, err := l.Append('A', fmt.Append(nil, i))
			if err == nil {
				err = l.Sync(at)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, got := open(t, path)
	l.Close()
	if len(got) != 50 {
		t.Errorf("%d records, want 50", len(got))
	}
}
