package studio

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// described is a route in the description: its summary, its query parameters and its answer.
type described struct {
	summary string
	query   string // names; a star behind one says that it may be given several times
	answers map[string]any
}

const filterQuery = "set step* task* key* repeat reward_min reward_max reward_open stop signal version tools_min " +
	"turns_min length_min length_max q regex"

// descriptions are of all routes, which TestOpenAPI holds together.
func descriptions() map[string]described {
	rows := map[string]any{"samples": []Row{}, "total": new(int), "cursor": new(string), "scanned": 0, "of": 0,
		"indexed": 0.0}
	return map[string]described{
		"GET /api/runs": {"All runs, those that changed last first.", "", map[string]any{"runs": []Run{},
			"folders": []string{}, "version": ""}},
		"PUT /api/runs/{run}/tags": {"Set a run's tags: the body is {\"tags\": [text]}.", "",
			map[string]any{"tags": []string{}}},
		"GET /api/runs/{run}": {"A run: also its configuration, health and the names of its metrics.", "",
			map[string]any{"id": "", "config": []source.Setting{}, "health": []Light{}, "metrics": []map[string]any{},
				"siblings": []string{}}},
		"GET /api/runs/{run}/metrics": {"Curves, thinned to a number of points. A point is the mean of its steps.",
			"name* points from to", map[string]any{"series": map[string]curve.Curve{}}},
		"GET /api/runs/{run}/timeline": {"What each step spent its time on. What is outside is not in the step's " +
			"time.", "from to",
			map[string]any{"steps": []span{}}},
		"GET /api/runs/{run}/steps": {"The files of samples: steps, and evaluations by set.", "",
			map[string]any{"steps": []map[string]any{}, "indexed": 0.0}},
		"GET /api/runs/{run}/samples": {"Samples that a filter lets through. A search sends what it found in a " +
			"second " +
			"and a cursor that goes on.", filterQuery + " sort limit cursor offset", rows},
		"GET /api/runs/{run}/histogram": {"The rewards of samples in bins; reward_min and reward_max do not count.",
			filterQuery + " bins", map[string]any{"edges": []float64{}, "counts": []int{}, "complete": true}},
		"GET /api/runs/{run}/export": {"The samples as a file, format jsonl or csv.", filterQuery + " sort format",
			nil},
		"GET /api/runs/{run}/samples/{sample}": {"A sample with its tokens, the prompt's first.", "from count",
			map[string]any{"": Sample{}}},
		"GET /api/runs/{run}/samples/{sample}/score": {"The sample's tokens under a checkpoint's weights.",
			"checkpoint",
			map[string]any{"logprobs": []*float64{}, "alternatives": [][]Alternative{}}},
		"GET /api/runs/{run}/groups/{step}/{task}": {"The samples of one task in one step, and where they first " +
			"differ.",
			"set", map[string]any{"samples": []Sample{}, "differs_at": &difference{}, "signal": true,
				"reward_mean": new(float64), "reward_std": new(float64), "key": "", "prompt": ""}},
		"GET /api/runs/{run}/checkpoints": {"The saved weights of a run, and whether they can be asked.", "",
			map[string]any{"checkpoints": []source.Checkpoint{}, "ask": true, "score": true, "why": ""}},
		"POST /api/runs/{run}/ask": {"Sample from a checkpoint. The body has sample, messages or prompt, and " +
			"checkpoint, " +
			"temperature, max_tokens, seed, continue. The answer is a stream of {\"token\"}, then {\"done\"} or " +
			"{\"error\"}.",
			"", nil},
		"GET /api/runs/{run}/report": {"The run as one HTML file that needs nothing else.", "", nil},
		"GET /api/tasks": {"One task, by its key, across the steps of several runs.", "run* task set step*",
			map[string]any{"runs": []map[string]any{}, "prompt": ""}},
		"GET /api/compare": {"The keys of the configurations of runs that differ.", "run*",
			map[string]any{"config": []map[string]any{}}},
		"GET /api/events": {"Server-sent events: runs (the list changed), run (a run has new data), index (how far " +
			"an index is).", "", nil},
		"GET /api/openapi.json": {"This description.", "", nil},
	}
}

// openapi is GET /api/openapi.json.
func (s *Studio) openapi(w http.ResponseWriter, _ *http.Request) error {
	paths := map[string]map[string]any{}
	for pattern, d := range descriptions() {
		method, path, _ := strings.Cut(pattern, " ")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(method)] = d.operation(path)
	}
	failure := map[string]any{"type": "object", "properties": map[string]any{"error": map[string]any{"type": "object",
		"properties": map[string]any{"type": schema(reflect.TypeFor[string]()),
			"message": schema(reflect.TypeFor[string]())}}}}
	return answer(w, map[string]any{"openapi": "3.1.0", "paths": paths,
		"info":       map[string]any{"title": "trinity studio", "version": s.opts.Version},
		"components": map[string]any{"schemas": map[string]any{"Error": failure}},
		"security":   []any{map[string]any{}, map[string]any{"token": []any{}}}})
}

// operation is the description of one route.
func (d described) operation(path string) map[string]any {
	parameters := []any{}
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, map[string]any{"name": strings.TrimSuffix(name, "}"), "in": "path",
				"required": true, "schema": map[string]any{"type": "string"}})
		}
	}
	for _, name := range strings.Fields(d.query) {
		one := map[string]any{"type": "string"}
		name, many := strings.CutSuffix(name, "*")
		if many {
			one = map[string]any{"type": "array", "items": one}
		}
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "schema": one})
	}
	ok := map[string]any{"description": "done"}
	if d.answers != nil {
		ok["content"] = map[string]any{"application/json": map[string]any{"schema": d.schema()}}
	}
	return map[string]any{"summary": d.summary, "parameters": parameters, "responses": map[string]any{"200": ok,
		"default": map[string]any{"description": "an error",
			"content": map[string]any{"application/json": map[string]any{
				"schema": map[string]any{"$ref": "#/components/schemas/Error"}}}}}}
}

func (d described) schema() map[string]any {
	if whole, ok := d.answers[""]; ok {
		return schema(reflect.TypeOf(whole))
	}
	properties := map[string]any{}
	for name, v := range d.answers {
		properties[name] = schema(reflect.TypeOf(v))
	}
	return map[string]any{"type": "object", "properties": properties}
}

// schema is the JSON Schema of a Go type as encoding/json writes it.
func schema(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner := schema(t.Elem())
		if kind, ok := inner["type"].(string); ok {
			inner["type"] = []string{kind, "null"}
		}
		return inner
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // JSON as it is
			return map[string]any{}
		}
		return map[string]any{"type": "array", "items": schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schema(t.Elem())}
	case reflect.Struct:
		properties := map[string]any{}
		structFields(t, properties)
		return map[string]any{"type": "object", "properties": properties}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

func structFields(t reflect.Type, into map[string]any) {
	for _, f := range reflect.VisibleFields(t) { // including fields of embedded structs
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			into[name] = schema(f.Type)
		}
	}
}
