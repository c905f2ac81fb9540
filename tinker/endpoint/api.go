package endpoint

import "github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"

// Error is an error as clients read it.
type Error = param.Error

// ErrorOf returns err in OpenAI's form.
func ErrorOf(err error) *Error { return param.ErrorOf(err) }
