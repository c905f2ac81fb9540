// Command mutations damages 3,000 data folders of a server, and logs and checkpoints alone: each must be
// refused by name or answer as before. It repeats the tests that damage, each time with other damage, and adds up.
//
// Needs: nothing
// Takes: five minutes
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
)

func main() {
	folders := flag.Int("folders", 3000, "how many data folders are damaged, at least")
	flag.Parse()
	err := errors.New("give no arguments")
	if flag.NArg() == 0 {
		err = run(*folders)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

// perTest is the number of folders that TestMutations of tinker/server damages.
const perTest = 45

func run(folders int) error {
	return errors.Join(
		repeat("./tinker/server", "TestMutations$", (folders+perTest-1)/perTest),
		repeat("./internal/wal", "TestMutations$", 1),
		repeat("./engine", "TestDamagedCheckpoints$", 1))
}

// row matches what a test logs of one kind of file, or of all.
var row = regexp.MustCompile(`_test.go:\d+: (.*?):? +(\d+) refused by name, +(\d+) with equal (\w+)`)

// tally is the sums of one kind.
type tally struct {
	refused, equal int
	what           string // is equal
}

// repeat runs a test several times and prints the sums of its rows, and what else it says if it fails.
func repeat(pkg, test string, count int) error {
	cmd := exec.Command("go", "test", pkg, "-run", test, "-count", strconv.Itoa(count), "-v", "-timeout", "60m")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	kinds, said := map[string]*tally{}, []string{}
	var order []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		m := row.FindStringSubmatch(lines.Text())
		if m == nil {
			said = append(said, lines.Text())
			continue
		}
		if kinds[m[1]] == nil {
			kinds[m[1]] = &tally{what: m[4]}
			order = append(order, m[1])
		}
		refused, _ := strconv.Atoi(m[2]) // digits
		equal, _ := strconv.Atoi(m[3])
		kinds[m[1]].refused += refused
		kinds[m[1]].equal += equal
	}
	slices.Sort(order)
	fmt.Printf("%s %s\n", pkg, test)
	for _, kind := range order {
		k := kinds[kind]
		fmt.Printf("%-40s %5d refused by name, %5d with equal %s\n", kind, k.refused, k.equal, k.what)
	}
	if err := cmd.Wait(); err != nil {
		for _, line := range said {
			fmt.Println(line)
		}
		return fmt.Errorf("%s %s: %w", pkg, test, err)
	}
	return nil
}
