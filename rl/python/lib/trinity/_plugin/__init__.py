"""The calls that the Go package rl/plugin makes: it names trinity._plugin.calls as a module to import."""
