// Command goclients is what the official, unmodified Go clients get from `trinity serve`. Each check prints one line of
// JSON; a failed one says why. run.py starts the server and names it in the environment.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// check is one row of the table.
type check struct {
	route, what string
	do          func(context.Context) error
}

// The model that run.py serves, and a question that fits its context.
const (
	base     = "tools"
	question = "What is 3 + 4?"
)

func main() {
	url, key := os.Getenv("TINKER_BASE_URL"), os.Getenv("TINKER_API_KEY")
	openai := report("openai-go", "github.com/openai/openai-go/", openaiChecks(url, key))
	anthropic := report("anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go",
		anthropicChecks(url, key, os.Getenv("CLIENTS_CALLS")))
	if !openai || !anthropic {
		os.Exit(1)
	}
}

// report runs the checks of a client, prints a line for each, and reports whether all work.
func report(name, module string, checks []check) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	all := true
	for _, c := range checks {
		result := "works"
		if err := c.do(ctx); err != nil {
			result, all = fmt.Sprintf("FAILED: %.300v", err), false
		}
		line, err := json.Marshal(map[string]string{"route": c.route, "client": name + " " + version(module),
			"what": c.what, "result": result})
		if err != nil {
			panic(err) // texts can be encoded
		}
		fmt.Println(string(line))
	}
	return all
}

// version is that of the module in this program whose path begins so.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if strings.HasPrefix(d.Path, module) {
			return strings.TrimPrefix(d.Version, "v")
		}
	}
	return "?"
}

// same is an error unless got is want.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
