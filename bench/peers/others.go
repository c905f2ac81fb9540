package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// usage is the processor time up to some moment.
type usage struct {
	all  time.Duration // of the whole machine
	ours time.Duration // of this process and of the ended programs
	at   time.Time
	ok   bool // both are known on this system
}

// others is the average number of processors that other work used since before. It slows down peers that spin while
// they wait.
func (u usage) others(before usage) float64 {
	return max(0, (u.all-before.all-(u.ours-before.ours)).Seconds()/u.at.Sub(before.at).Seconds())
}

// busy reads the first line of /proc/stat: hundredths of a second of user, nice, system, idle, waiting, interrupts,
// soft interrupts and time stolen by the hypervisor.
func busy(stat string) (time.Duration, error) {
	var user, nice, system, idle, wait, irq, soft, stolen int64
	_, err := fmt.Sscanf(stat, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &stolen)
	return time.Duration(user+nice+system+irq+soft+stolen) * 10 * time.Millisecond, err
}

// used returns the usage up to now.
func used() usage {
	u := usage{at: time.Now()}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	u.all, err = busy(line)
	ours, ok := processTime()
	u.ours, u.ok = ours, ok && err == nil
	return u
}
