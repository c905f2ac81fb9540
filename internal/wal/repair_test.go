package wal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Repair keeps every record but the damaged one, names it, and the log opens again.
func TestRepair(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	l, _ := must(t, path, wal.Options{})
	var all []string
	for i := range 9 {
		put(t, l, fmt.Sprintf("record %d", i))
		all = append(all, fmt.Sprintf("r record %d", i))
	}
	l.Close()
	whole := read(t, path)
	if aside, err := wal.Repair(path, wal.Options{}, accept); err != nil || len(aside) != 0 ||
		!slices.Equal(read(t, path), whole) {
		t.Fatalf("a sound log: %v, %v", aside, err)
	}
	mark := read(t, path+".mark")
	for at := 30; at < len(whole); at += 7 {
		for _, bad := range [][]byte{flipped(whole, at), whole[:at]} {
			os.WriteFile(path, bad, 0o644)
			os.WriteFile(path+".mark", mark, 0o644)
			aside, err := wal.Repair(path, wal.Options{}, accept)
			if err != nil || len(aside) == 0 {
				t.Fatalf("damage at byte %d: %v, %v", at, aside, err)
			}
			l, got := must(t, path, wal.Options{})
			l.Close()
			if len(bad) == len(whole) && len(got) != len(all)-1 {
				t.Fatalf("a flipped bit at byte %d: %d records of %d left, aside %v", at, len(got), len(all), aside)
			}
			for _, g := range got {
				if !slices.Contains(all, g) {
					t.Fatalf("%q was never written", g)
				}
			}
		}
	}
}

// A record that the caller refuses is set aside with the reason.
func TestRepairOfARefusedRecord(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	l, _ := must(t, path, wal.Options{})
	put(t, l, "good", "poison", "also good")
	l.Close()
	aside, err := wal.Repair(path, wal.Options{}, func(_ byte, payload []byte) error {
		if string(payload) == "poison" {
			return errors.New("this is unreadable")
		}
		return nil
	})
	if err != nil || len(aside) != 1 || !strings.Contains(aside[0].String(), "this is unreadable") {
		t.Fatalf("%v, %v", aside, err)
	}
	l, got := must(t, path, wal.Options{})
	l.Close()
	if !slices.Equal(got, []string{"r good", "r also good"}) {
		t.Errorf("%q", got)
	}
	if len(read(t, path+".aside")) == 0 {
		t.Error("the damaged part was not kept")
	}
}

func accept(byte, []byte) error { return nil }
