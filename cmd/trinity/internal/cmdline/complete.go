package cmdline

import (
	"maps"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"
)

// Complete answers a shell that asks for completions by setting COMP_LINE. It reports whether a shell asked.
func Complete(parser *kong.Kong) (asked bool, err error) {
	command, err := kongcompletion.Command(parser)
	if err != nil {
		return false, err
	}
	addDefaults(parser.Model.Node, &command)
	c := complete.New(parser.Model.Name, command)
	c.Out = parser.Stdout
	return c.Complete(), nil
}

// addDefaults gives a command the flags of its default subcommand.
func addDefaults(node *kong.Node, c *complete.Command) {
	for _, child := range node.Children {
		sub := c.Sub[child.Name]
		if d := child.DefaultCmd; d != nil {
			maps.Copy(sub.GlobalFlags, sub.Sub[d.Name].GlobalFlags)
		}
		addDefaults(child, &sub)
	}
}
