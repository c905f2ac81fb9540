// Package python runs functions of the user's own Python, for plug-in files and environments: it starts processes
// of python3, makes calls in them and answers their calls back. It knows nothing of workflows or rewards. The
// binary carries the Python side, the package trinity below lib, and unpacks it; the functions are in modules that
// Options name, which fill the table trinity._host.calls.
//
// # Protocol
//
// One JSON object a line, UTF-8, over the process's stdin and stdout. The process first moves both to descriptors
// of its own, so that whatever prints writes to stderr, which is logged, and nothing but messages is on the pipe.
//
// From Go:
//
//	{"id":7,"call":"NAME","args":{…}}       begins a call; many are in progress at once
//	{"cancel":7}                            nobody waits for call 7 any more
//	{"up":3,"result":…}                     answers the call back 3, or
//	{"up":3,"error":{"type":"Error","message":"…"}}
//
// From Python:
//
//	{"hello":{"protocol":1,"python":"3.12.1","executable":"…","pid":…}}  the first message
//	{"id":7,"result":…}                                                  ends call 7, or
//	{"id":7,"error":{"type":"ValueError","message":"…","traceback":"…"}}
//	{"up":3,"of":7,"call":"model.chat","args":{…}}                       a call back within call 7
//	{"waits":7}                                                          call 7 waits for a thread or for others
//	{"begins":7}                                                         it runs, and its time limit begins anew
//	{"log":{"of":7,"level":"info","text":"…"}}                           printed in call 7; 0 is outside
//	{"where":{"of":7,"stack":"…"}}                                       where call 7 was when it was cancelled
//
// NaN and infinities are the strings "NaN", "Infinity" and "-Infinity" (see Float). Every call is answered once, a
// cancelled one too. Lines before hello are logged, as files like sitecustomize may print. After it, a line that is
// none of these, or longer than Options.MaxMessage, ends the process. Two functions are always there: host.import
// imports {"modules":[…]}, and host.ping answers if the reading thread and the event loop are alive.
//
// # Calls
//
// Plain functions run on threads, which are started as they are needed, coroutines on one event loop, on the main
// thread. A plain function that returns a coroutine goes on there. Beyond Options.Threads, calls of plain functions
// wait for a thread; WithLimit bounds the time that a call runs. Every call runs in a context (contextvars) of its
// own, so that what it prints is logged with its name and task. A call may print a mebibyte; the rest is counted and
// dropped. What is written past sys.stdout (by C code and child processes) is logged without the call, a mebibyte at
// once and 32 KiB a second.
//
// # Failures
//
//   - An exception is an *Error with its traceback, and the process serves on.
//   - A process that exits, crashes or breaks the protocol is killed with its children, and its calls fail with
//     *Lost, which has the last lines of stderr. The next call starts another. Calls may be made again by who made
//     them; Host makes those again that had not begun.
//   - When a call's context ends, Call returns *Cancelled at once, with the place where the call was. Calls that have
//     not begun, coroutines and functions that wait in a call back are cancelled. Other functions cannot be: if one
//     has not ended after Options.Grace the process takes no new calls, another takes its place, and the old one is
//     killed when its other calls and sessions have ended, or wait for threads that will not be free. Only if it does
//     not answer host.ping for another Grace (C code holds the interpreter's lock, or the event loop is blocked) it is
//     killed at once, and its other calls fail with *Lost.
//   - Options.Memory bounds each process: RLIMIT_DATA on Linux, which counts what is written, not what libraries
//     reserve; RLIMIT_AS on other unixes, where it may be refused (a line in the log says so). Exceeding it raises
//     MemoryError, or ends the process. Thread stacks do not count. Children have the same limit each.
//
// # Ends
//
// Processes are those of internal/process: each has a group of its own, and its end is that of its children. Close
// gives exit handlers two seconds, and then kills. If this program is killed, the processes end because their input
// does, and the guard kills what is left of them, also where C code hangs. On Windows there are no groups and no
// guard: processes end with their input, and children are their own affair.
package python
