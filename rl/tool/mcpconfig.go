package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// serverConfig is an MCP server as the configuration files of MCP clients describe it.
type serverConfig struct {
	Name      string            `json:"-"`
	Transport string            `json:"transport"` // stdio, http (also streamable-http) or sse; "" is inferred
	Type      string            `json:"type"`      // the same by another name
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
}

// readServers reads the text after "mcp:": a URL, a JSON file of a server or several (mcpServers), or a command.
func readServers(text string) ([]serverConfig, error) {
	switch {
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		list, err := checkServers([]serverConfig{{Name: "default", URL: text}})
		if err != nil {
			return nil, fmt.Errorf("tool: mcp: %w", err)
		}
		return list, nil
	case strings.HasSuffix(text, ".json"):
		data, err := disk.ReadFile(text, disk.SmallFile)
		if err != nil {
			return nil, fmt.Errorf("tool: mcp: %w", err)
		}
		list, err := parseServers(data)
		if err != nil {
			return nil, fmt.Errorf("tool: mcp: %s: %w", text, err)
		}
		return list, nil
	}
	words := strings.Fields(text)
	return checkServers([]serverConfig{{Name: "default", Command: words[0], Args: words[1:]}})
}

// parseServers reads a configuration file. Members that other clients have besides are ignored.
func parseServers(data []byte) ([]serverConfig, error) {
	var file struct {
		Servers map[string]serverConfig `json:"mcpServers"`
		serverConfig
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Servers == nil {
		file.Name = "default"
		return checkServers([]serverConfig{file.serverConfig})
	}
	var list []serverConfig
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		s := file.Servers[name]
		s.Name = name
		list = append(list, s)
	}
	return checkServers(list)
}

// checkServers infers transports and refuses servers that cannot be reached.
func checkServers(list []serverConfig) ([]serverConfig, error) {
	if len(list) == 0 {
		return nil, errors.New("mcpServers names no server")
	}
	for i := range list {
		s := &list[i]
		s.Transport = cmp.Or(s.Transport, s.Type)
		if s.Transport == "" {
			s.Transport = "http"
			if s.Command != "" || len(s.Args) > 0 {
				s.Transport = "stdio"
			}
		}
		switch s.Transport {
		case "stdio":
			if s.Command == "" {
				return nil, fmt.Errorf("the server %q has no command", s.Name)
			}
		case "http", "streamable-http", "streamable_http", "sse":
			u, err := url.Parse(s.URL)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return nil, fmt.Errorf("the server %q has the url %q; it must be http://… or https://…", s.Name, s.URL)
			}
		default:
			return nil, fmt.Errorf("the server %q has the transport %q; it must be stdio, http or sse", s.Name,
				s.Transport)
		}
	}
	return list, nil
}
