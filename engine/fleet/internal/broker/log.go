package broker

import (
	"fmt"
	"strings"
)

// logger passes on what the server warns of. Notices of connections coming and going are not shown: the head tells
// about workers itself.
type logger struct{ warn func(format, line string) }

func (l logger) Noticef(string, ...any) {}
func (l logger) Debugf(string, ...any)  {}
func (l logger) Tracef(string, ...any)  {}

func (l logger) Warnf(format string, v ...any)  { l.say(format, v) }
func (l logger) Errorf(format string, v ...any) { l.say(format, v) }
func (l logger) Fatalf(format string, v ...any) { l.say(format, v) }

func (l logger) say(format string, v []any) {
	if l.warn != nil && !strings.Contains(format, "Readloop processing time") { // a busy machine
		l.warn(format, fmt.Sprintf(format, v...))
	}
}
