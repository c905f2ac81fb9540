package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	tableFile  = "docs/results/algorithms.md"
	tableBegin = "<!-- table: make bench NAME=algorithms -->\n"
	tableHead  = "| algorithm_type | local engine | Tinker wire | on the tiny example |\n|---|---|---|---|\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// writeRow puts an algorithm's row into the table.
func writeRow(name, outcome string) error {
	doc, err := os.ReadFile(tableFile)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(doc), tableBegin)
	old, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q with the table between", tableFile, tableBegin, tableEnd)
	}
	rows := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(old, tableHead)) {
		rows[strings.Trim(strings.SplitN(line, "|", 3)[1], " ")] = line
	}
	rows[name] = fmt.Sprintf("| %s | yes | same bits | %s |\n", name, outcome)
	var table strings.Builder
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		table.WriteString(rows[k])
	}
	return os.WriteFile(tableFile, []byte(before+tableBegin+tableHead+table.String()+tableEnd+after), 0o666)
}
