package server

// The groups of Options, and what a command needs to know about keys.
