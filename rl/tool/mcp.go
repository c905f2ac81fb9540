package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// MCP is the tools of one or several MCP servers, called in the form of GEM's MCPTool. One call of the model is one
// tools/call.
type MCP struct {
	guard       *process.Guard
	servers     []*server
	tools       map[string]remote
	names       []string // sorted
	instruction string
}

// remote is a tool of a server.
type remote struct {
	server *server
	name   string // there
}

// openMCP begins sessions with the servers that text describes, and lists their tools.
func openMCP(ctx context.Context, text string, o Options) (*MCP, error) {
	list, err := readServers(text)
	if err != nil {
		return nil, err
	}
	m := &MCP{guard: process.NewGuard(), tools: map[string]remote{}}
	for _, c := range list {
		m.servers = append(m.servers, serverAt(c, o, m.guard))
	}
	if err := m.discover(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// close ends the sessions, and the servers that were started.
func (m *MCP) close() error {
	for _, s := range m.servers {
		s.session.Close()
	}
	return m.guard.Close()
}

// discover lists the tools and writes the instruction. With several servers a tool's name begins with its server's.
func (m *MCP) discover(ctx context.Context) error {
	lines := map[string]string{}
	for _, s := range m.servers {
		tools, err := s.list(ctx)
		if err != nil {
			return fmt.Errorf("tool: mcp: %w", err)
		}
		for _, t := range tools {
			name, about := t.Name, t.Description
			if len(m.servers) > 1 {
				name = s.config.Name + "_" + name
				about = cmp.Or(about, "Tool from "+s.config.Name+" server")
				about = "[" + s.config.Name + "] " + about
			}
			if _, twice := m.tools[name]; twice {
				return fmt.Errorf("tool: mcp: two tools are named %q; give the servers other names", name)
			}
			if lines[name], err = schemaLine(name, about, t.InputSchema); err != nil {
				return fmt.Errorf("tool: mcp: the tool %q: %w", name, err)
			}
			m.tools[name] = remote{s, t.Name}
			m.names = append(m.names, name)
		}
	}
	if len(m.names) == 0 {
		return fmt.Errorf("tool: mcp: the server %s has no tools", m.servers[0].name())
	}
	slices.Sort(m.names)
	var all []string
	for _, name := range m.names {
		all = append(all, lines[name])
	}
	m.instruction = fmt.Sprintf(mcpInstruction, strings.Join(all, "\n"))
	return nil
}

// list lists the tools of a server, which may have as many pages as it likes.
func (s *server) list(ctx context.Context) (tools []*mcp.Tool, err error) {
	much := false
	err = s.do(ctx, func(ctx context.Context, session *mcp.ClientSession) error {
		tools = nil
		size := 0
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			data, err := json.Marshal(t)
			if size += len(data); err != nil || size > mcpTools {
				much = err == nil
				return err
			}
			tools = append(tools, t)
		}
		return nil
	})
	if much {
		return nil, fmt.Errorf("the MCP server %s describes its tools in more than %d MiB; give it fewer tools: all "+
			"are in each prompt", s.name(), mcpTools>>20)
	}
	if answered(err) != nil {
		err = fmt.Errorf("the MCP server %s does not list its tools: %w", s.name(), err)
	}
	return tools, err
}

// schemaLine describes a tool as a function in one line of JSON, in Python's way of writing it.
func schemaLine(name, about string, parameters any) (string, error) {
	if parameters == nil {
		parameters = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	type function struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  any    `json:"parameters"`
	}
	return pythonJSON(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{name, about, parameters}})
}

const mcpInstruction = `# Tool-Use Instructions

You have tools to help you answer. Use at most one of them in a message; its result is shown to you next, and each ` +
	`call can build on the results before it.

A call is written with XML tags: the name of the tool, and its arguments as one JSON object that follows the tool's ` +
	`schema, with quotes inside of texts escaped.

## Usage Example
<tool_call>
<tool_name>name_of_the_tool</tool_name>
<arguments>
{
  "first": "a value",
  "second": "a \"quoted\" value"
}
</arguments>
</tool_call>

## Available Tools
<tools>
%s
</tools>`

// Instruction implements env.Tool.
func (m *MCP) Instruction() string { return m.instruction }

// Use implements env.Tool.
func (m *MCP) Use(ctx context.Context, action string) (env.ToolUse, error) {
	c, ok := findCall(action)
	if !ok {
		return env.ToolUse{}, nil
	}
	use := env.ToolUse{Called: true, Failed: true, Action: c.block}
	tool, ok := m.tools[c.name]
	if !ok { // GEM takes this for no call, and the environment gets it
		use.Text = fmt.Sprintf("Tool '%s' not found. Available tools: %s", c.name, strings.Join(m.names, ", "))
		return use, nil
	}
	if _, ok := c.arguments.(map[string]any); !ok {
		use.Text = "[Tool execution error: the arguments must be a JSON object]"
		return use, nil
	}
	var result *mcp.CallToolResult
	err := tool.server.do(ctx, func(ctx context.Context, session *mcp.ClientSession) (err error) {
		result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: tool.name, Arguments: c.arguments})
		return err
	})
	switch e := answered(err); {
	case e != nil && e.Code == jsonrpc.CodeInvalidParams:
		use.Text = fmt.Sprintf("[Tool execution error: %s]", e.Message)
		return use, nil
	case err != nil:
		return env.ToolUse{}, fmt.Errorf("tool: mcp: %s: %w", c.name, err)
	case result.IsError:
		use.Text = fmt.Sprintf("[Tool execution error: %s]", strings.Join(blocks(result), " "))
		return use, nil
	}
	use.Failed, use.Text = false, resultText(result)
	return use, nil
}

// resultText is a result as the model reads it: a single structured value, else the blocks, else the structure.
func resultText(r *mcp.CallToolResult) string {
	if object, ok := r.StructuredContent.(map[string]any); ok && len(object) == 1 {
		switch v := object["result"].(type) { // FastMCP wraps values that are no objects so
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	if list := blocks(r); len(list) > 0 {
		return strings.Join(list, "\n")
	}
	if r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			return string(data)
		}
	}
	return "Tool execution completed with no output"
}

// blocks are the blocks of a result as texts.
func blocks(r *mcp.CallToolResult) (list []string) {
	binary := func(data []byte) string { return fmt.Sprintf("Binary data: %d bytes", len(data)) }
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			list = append(list, c.Text)
		case *mcp.ImageContent:
			list = append(list, binary(c.Data))
		case *mcp.AudioContent:
			list = append(list, binary(c.Data))
		default:
			if data, err := c.MarshalJSON(); err == nil {
				list = append(list, string(data))
			}
		}
	}
	return list
}
