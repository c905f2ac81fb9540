// Package process runs programs of the user, in any language, so that nothing outlives them or this program.
//
// Each program has a process group of its own. When it ends, or is ended, the group is killed. On Linux a process that
// left the group is found too, by a variable in its environment (TRINITY_PROCESS), and is killed. If this program is
// killed itself, a guard does the same: a small shell that waits for the end of its input. Windows has no groups and no
// guard; there only the program itself is ended. PR_SET_PDEATHSIG is not used: it would not reach children, and it
// fires when the thread ends that started a program, which Go does not promise to keep.
//
// Output is read line by line, at most 32 KiB/s with bursts up to 1 MiB. The rest is counted and dropped, so that a
// program never waits for its reader.
package process
