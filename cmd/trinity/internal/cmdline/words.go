// Package cmdline reads a command line as people write it, before and for kong.
package cmdline

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Spoken are the words that people try first, as this program has them: help, help COMMAND, --version.
func Spoken(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(args[1:len(args):len(args)], "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

// WordsLast moves the flags of a command before its other words, since people write them in any order and kong takes a
// list of words, such as overrides, only where they stand together. What follows "--" stays.
func WordsLast(node *kong.Node, args []string) []string {
	var flags, words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		child := childOf(node, arg)
		switch {
		case arg == "--":
			return append(append(flags, arg), append(words, args[i+1:]...)...)
		case len(words) == 0 && child != nil: // the flags before it belong to the command above
			flags, node = append(flags, arg), child
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		case takesNext(node, arg) && i+1 < len(args):
			i++
			flags = append(flags, arg, args[i])
		default:
			flags = append(flags, arg)
		}
	}
	return append(flags, words...)
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// takesNext is whether a flag has its value in the next word.
func takesNext(node *kong.Node, arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		f := flagOf(node, func(f *kong.Flag) bool { return f.Name == name })
		return f != nil && !f.IsBool() && !f.IsCounter()
	}
	for i, short := range arg[1:] { // -xyz is -x -y -z, and -cFILE is -c FILE
		f := flagOf(node, func(f *kong.Flag) bool { return f.Short == short })
		if f == nil {
			return false
		}
		if !f.IsBool() && !f.IsCounter() {
			return i+2 == len(arg)
		}
	}
	return false
}

// flagOf is the flag of a command, of its default subcommand or of a command above it.
func flagOf(node *kong.Node, is func(*kong.Flag) bool) *kong.Flag {
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if is(f) {
				return f
			}
		}
	}
	return nil
}
