package openenvtest

import _ "embed"

// schema is the real server's answer to /schema.
//
//go:embed schema.json
var schema string
