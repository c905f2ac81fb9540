package main

import kongcompletion "github.com/jotaen/kong-completion"

// completionCmd prints the shell code that makes a shell ask this program for completions.
type completionCmd struct{ kongcompletion.Completion }
