package trinity

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// leastDeadline is the shortest constant deadline of a test: a busy machine may stop a process for seconds.
const leastDeadline = 10 * time.Second

// mayWait lists the tests that wait for the clock outside a synctest bubble, and why. A key is a folder that ends in
// a slash, a file, or a function of a file after a colon.
var mayWait = map[string]string{
	"bench/peers/peers_test.go:replay":                    "a program that another one kills",
	"cmd/trinity/serve_kill_test.go:pause":                "clients try again while a killed server starts",
	"rl/python/clock_test.go:TestCancelledBeforeItBegan":  "a call that cannot begin is given up",
	"rl/python/many_test.go:stormy":                       "calls that hang are given up",
	"rl/tool/mcp_test.go:newServer":                       "a tool that hangs until its call is given up",
	"rl/tool/mcpsse_test.go:TestMCPSilentSSE":             "a silent server is given up",
	"rl/tool/python_test.go:TestPythonEndsWithTheContext": "a program that never ends is stopped",
	"engine/fleet/proxy_test.go:pump":                     "it is a slow network",
	"hf/gguf/modeldir/real_test.go:TestRealMemory":        "it looks at the memory every millisecond",
	"internal/process/process_test.go:TestMain":           "a program that another one kills",
	"internal/process/process_test.go:victim":             "a program that another one kills",
}

// TestNoTestWaitsForTheClock refuses time.Sleep and constant deadlines below leastDeadline in tests. In a bubble of
// testing/synctest both are right, since time passes there only when every goroutine waits. Elsewhere a test waits for
// an event. If there is none, such as a change in another process, a function named eventually polls.
func TestNoTestWaitsForTheClock(t *testing.T) {
	folders := map[string]map[string]string{}
	for path, text := range goFiles(t) {
		path = filepath.ToSlash(path)
		dir := filepath.ToSlash(filepath.Dir(path))
		if folders[dir] == nil {
			folders[dir] = map[string]string{}
		}
		folders[dir][path] = text
	}
	used := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		for _, w := range clockWaits(t, folders[dir]) {
			key := w.exception()
			if used[key] = true; key == "" {
				t.Errorf("%s:%d: %s waits for the clock: use a synctest bubble, an event, or a function eventually "+
					"that polls for at least %v", w.path, w.line, w.call, 2*leastDeadline)
			}
		}
	}
	for key := range mayWait {
		if !used[key] {
			t.Errorf("mayWait lists %s, which does not wait for the clock: delete the row", key)
		}
	}
}

// A clockWait is a call in a test that waits for the clock outside a bubble.
type clockWait struct {
	path     string
	line     int
	function string // top-level
	call     string
}

// exception returns the key of mayWait that permits w.
func (w clockWait) exception() string {
	for key := range mayWait {
		if key == w.path || key == w.path+":"+w.function ||
			strings.HasSuffix(key, "/") && strings.HasPrefix(w.path, key) {
			return key
		}
	}
	return ""
}

// clockWaits finds the waits in the test files of one folder.
func clockWaits(t *testing.T, files map[string]string) (all []clockWait) {
	t.Helper()
	f := parseFolder(t, files)
	for _, d := range f.decls {
		polls := d.name == "eventually" && f.names(d.node, 2*leastDeadline)
		ast.Inspect(d.node, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && !polls && f.waits(call) && !f.inBubble(d, call.Pos()) {
				pos := f.set.Position(call.Pos())
				all = append(all, clockWait{pos.Filename, pos.Line, d.name, nameOf(call.Fun)})
			}
			return true
		})
	}
	return all
}

// waits reports whether a call sleeps or has a constant deadline that is too short.
func (f *folder) waits(call *ast.CallExpr) bool {
	name, limit := nameOf(call.Fun), ast.Expr(nil)
	_, method, _ := strings.Cut(name, ".")
	switch {
	case name == "time.Sleep":
		return true
	case name == "time.After" || name == "time.NewTimer" || name == "time.AfterFunc":
		limit = call.Args[0]
	case name == "context.WithTimeout" || name == "context.WithTimeoutCause":
		limit = call.Args[1]
	case name == "context.WithDeadline" || name == "context.WithDeadlineCause":
		limit = fromNow(call.Args[1])
	case strings.HasSuffix(method, "SetDeadline") || strings.HasSuffix(method, "SetReadDeadline") ||
		strings.HasSuffix(method, "SetWriteDeadline"):
		limit = fromNow(call.Args[0])
	}
	d, ok := f.duration(limit)
	return ok && d < leastDeadline
}

// fromNow returns the duration d of time.Now().Add(d); nil for other expressions.
func fromNow(e ast.Expr) ast.Expr {
	if call, ok := e.(*ast.CallExpr); ok && nameOf(call.Fun) == "time.Now().Add" {
		return call.Args[0]
	}
	return nil
}

func TestClockWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		source string
		want   []string // function and call
	}{
		"a sleep": {`func TestA(t *testing.T) { time.Sleep(d) }`, []string{"TestA time.Sleep"}},
		"short deadlines": {`const short = 2 * time.Second
			func TestA(t *testing.T) {
				context.WithTimeout(ctx, short)
				context.WithDeadline(ctx, time.Now().Add(3*time.Second/2))
				<-time.After(time.Duration(5) * time.Millisecond)
				c.SetReadDeadline(time.Now().Add(half))
			}`, []string{"TestA context.WithTimeout", "TestA context.WithDeadline", "TestA time.After",
			"TestA c.SetReadDeadline"}},
		"long and variable deadlines": {`func TestA(t *testing.T, d time.Duration) {
				context.WithTimeout(ctx, 10*time.Second)
				context.WithTimeout(ctx, d)
				<-time.After(time.Minute)
				c.SetDeadline(time.Time{})
			}`, nil},
		"a bubble": {`func TestA(t *testing.T) {
				time.Sleep(1)
				synctest.Test(t, func(t *testing.T) { go func() { time.Sleep(1) }() })
			}`, []string{"TestA time.Sleep"}},
		"a helper of bubbles": {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { one() }) }
			func one() { two() }
			func two() { time.Sleep(1) }`, nil},
		"a helper of one bubble and another test": {`func TestA(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { one() })
			}
			func TestB(t *testing.T) { one() }
			func one() { two() }
			func two() { time.Sleep(1) }`, []string{"two time.Sleep"}},
		"a function given to a bubble by name": {`func TestA(t *testing.T) { synctest.Test(t, inside) }
			func inside(t *testing.T) { time.Sleep(1) }`, nil},
		"a helper that opens a bubble": {`func TestA(t *testing.T) {
				play(t, func() { time.Sleep(1) }, func() { time.Sleep(2) })
			}
			func play(t *testing.T, first, then func()) {
				first()
				synctest.Test(t, func(t *testing.T) { then() })
			}`, []string{"TestA time.Sleep"}},
		"a fake of a bubble": {`func TestA(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { use(&fake{}) })
			}
			type fake struct{}
			func (f *fake) Call() { time.Sleep(1) }`, nil},
		"a fake of a bubble and another test": {`func TestA(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { use(&fake{}) })
				use(&fake{})
			}
			type fake struct{}
			func (f *fake) Call() { time.Sleep(1) }`, []string{"Call time.Sleep"}},
		"polling": {`func eventually(holds func() bool) {
				for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
				}
			}`, nil},
		"polling with a short deadline": {`func eventually(holds func() bool) {
				for end := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
				}
			}`, []string{"eventually time.Sleep"}},
	} {
		var got []string
		for _, w := range clockWaits(t, map[string]string{"p/a_test.go": "package p\n" + tt.source,
			"p/a.go": "package p\nconst half = time.Second / 2\nfunc run() { time.Sleep(half) }"}) {
			got = append(got, w.function+" "+w.call)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
