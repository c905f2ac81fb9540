package openenvtest

import _ "embed"

// schema is what the real server answers to /schema.
//
//go:embed schema.json
var schema string
