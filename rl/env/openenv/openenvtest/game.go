package openenvtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// splits are the tasks of each split: the example that the task shows.
var splits = map[string][]int{"train": {1, 2, 3, 4, 5, 6, 7, 8}, "test": {9, 10, 11, 12}}

// task is the first text of the game.
const task = `You are playing Guess The Number.
A number from 1 to 12 (both included) was chosen. Find it within 3 turns.
After each wrong guess you are told whether the target number is 'higher' or 'lower'.
You may think aloud, but only the number inside \boxed{} counts as your guess, for example \boxed{%d}.
Your guesses and the hints will be listed below.
Enter your first guess to start the game.
`

// game is the environment of a session.
type game struct {
	server       *Server
	target, turn int
	resets       int
}

// answer answers a message; "" closes the session.
func (g *game) answer(raw []byte) string {
	var m struct {
		Type string
		Data json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return `{"type":"error","data":{"message":"Invalid JSON: Expecting value: line 1 column 1 (char 0)",` +
			`"code":"INVALID_JSON"}}`
	}
	switch m.Type {
	case "reset":
		return g.reset(m.Data)
	case "step":
		return g.step(m.Data)
	case "state":
		if m.Data != nil {
			return refused(fieldError("extra_forbidden", "data", "Extra inputs are not permitted", string(m.Data)))
		}
		return fmt.Sprintf(`{"type":"state","data":{"episode_id":"e","step_count":%d}}`, g.turn)
	case "close":
		return ""
	}
	return `{"type":"error","data":{"message":"Unknown message type: ` + m.Type + `","code":"UNKNOWN_TYPE"}}`
}

func (g *game) reset(data []byte) string {
	var o struct {
		Seed  *uint64
		Split *string
		Index int
	}
	json.Unmarshal(data, &o)
	seed := rand.Uint64()
	if o.Seed != nil && !g.server.o.Seedless {
		seed = *o.Seed
	}
	if g.server.o.Stateful {
		seed += uint64(g.resets)
	}
	g.resets++
	draw := python.New(seed)
	target := 3 * draw.Int(1, 4)
	example := draw.Int(1, 12)
	if o.Split != nil {
		examples := splits[*o.Split]
		if *o.Split == "train" {
			examples = examples[:g.server.Train.Load()]
		}
		if o.Index >= len(examples) {
			return `{"type":"error","data":{"message":"list index out of range","code":"EXECUTION_ERROR"}}`
		}
		example = examples[o.Index]
	}
	g.target, g.turn = target, 0
	return g.says(fmt.Sprintf(task, example), "null", false)
}

var guess = regexp.MustCompile(`\\boxed\{(\d+)\}`)

func (g *game) step(data []byte) string {
	var fields map[string]json.RawMessage
	json.Unmarshal(data, &fields)
	var message string
	var errs []string
	if raw, ok := fields["message"]; !ok {
		errs = append(errs, fieldError("missing", "message", "Field required", string(data)))
	} else if json.Unmarshal(raw, &message) != nil {
		errs = append(errs, fieldError("string_type", "message", "Input should be a valid string", string(raw)))
	}
	for name, v := range fields {
		if name != "message" && name != "metadata" {
			errs = append(errs, fieldError("extra_forbidden", name, "Extra inputs are not permitted", string(v)))
		}
	}
	if errs != nil {
		return refused(errs...)
	}
	g.turn++
	found := guess.FindAllStringSubmatch(message, -1)
	if found == nil {
		return g.says(fmt.Sprintf("At turn %d, you did not provide a valid guess.", g.turn), "-0.1", true)
	}
	n := 0
	fmt.Sscan(found[len(found)-1][1], &n)
	if n == g.target {
		return g.says("Congratulations!", "1.0", true)
	}
	hint := "lower"
	if n < g.target {
		hint = "higher"
	}
	return g.says(fmt.Sprintf("At turn %d, you guessed %d, and the target number is %s than %d.", g.turn, n, hint, n),
		"0.0", g.turn >= 3)
}

// says is an observation.
func (g *game) says(text, reward string, done bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(text)
	return fmt.Sprintf(`{"type":"observation","data":{"observation":{"metadata":{},"text":%s,"turn":%d},"reward":%s,`+
		`"done":%t}}`, strings.TrimSpace(b.String()), g.turn, reward, done)
}

func refused(errs ...string) string {
	return `{"type":"error","data":{"message":"Invalid message","code":"VALIDATION_ERROR","errors":[` +
		strings.Join(errs, ",") + `]}}`
}

// fieldError is an entry of pydantic's list.
func fieldError(kind, where, text, input string) string {
	return fmt.Sprintf(`{"type":"%s","loc":["%s"],"msg":"%s","input":%s,"url":"https://errors.pydantic.dev/2.14/v/%s"}`,
		kind, where, text, input, kind)
}
