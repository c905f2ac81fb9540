package openenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The origins of servers.
const (
	running   = "running"   // name is the URL of one that runs
	inFolder  = "folder"    // of a folder with openenv.yaml
	inPackage = "installed" // of an installed package
)

// address is a parsed id.
type address struct {
	from, name string
	app        string // module:attribute of a server that is started
	args       arguments
}

// arguments are the part of an id after the question mark, and the contents of its template file.
type arguments struct {
	split      string         // of the task API; "": the tasks are the seeds
	reset      map[string]any // further arguments of reset
	turns      int            // after which an episode is cut
	strict     bool           // refuse a server that ignores seeds
	servers    int            // to start
	invalid    float64        // reward of an answer that is no action
	timeout    time.Duration  // for the answer to a message
	connect    time.Duration  // for a connection
	start      time.Duration  // until a started server is healthy
	messageCap int64          // bytes of a message
	template   template
}

// template says how observations become text and answers become actions.
type template struct {
	show    []path         // of an observation; nil: {"observation": …, "action_schema": …}
	first   []path         // of the observation of a reset; nil: show
	prompt  string         // in front of the first observation
	suffix  string         // after each observation
	fill    string         // the field of the action that gets the answer; "": by the rules of action.go
	extract *regexp.Regexp // the part of the answer that counts; nil: all
	random  []string       // answers of the random player; nil: drawn from the schema
}

var packageName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*)?$`)

// parse reads an id: openenv:http://host:port, openenv:FOLDER or openenv:PACKAGE, and after a question mark arguments,
// as in a URL. find locates the files of relative paths.
func parse(id string, find func(string) string) (a address, err error) {
	rest, query, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(id), Prefix), "?")
	folder := find(rest)
	info, staterr := os.Stat(folder)
	switch {
	case strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://"):
		u, err := url.Parse(rest)
		if err != nil || u.Host == "" {
			return a, fmt.Errorf("%q is not a URL; write openenv:http://HOST:PORT", rest)
		}
		a.from, a.name = running, strings.TrimRight(rest, "/")
	case rest != "" && staterr == nil && info.IsDir():
		a.from = inFolder
		if a.name, err = filepath.Abs(folder); err != nil {
			return a, err
		}
		if a.app, err = appOf(a.name); err != nil {
			return a, err
		}
	case packageName.MatchString(rest):
		a.from, a.name = inPackage, rest
		if a.app = rest; !strings.Contains(rest, ":") {
			a.app = rest + ".server.app:app"
		}
	default:
		return a, fmt.Errorf("%q is no URL, no folder and no package; write openenv:http://HOST:PORT, openenv:FOLDER "+
			"(with an openenv.yaml) or openenv:PACKAGE", rest)
	}
	return a, a.args.read(query, find)
}

// appOf reads which app the openenv.yaml of a folder names.
func appOf(folder string) (string, error) {
	file := filepath.Join(folder, "openenv.yaml")
	data, err := disk.ReadFile(file, disk.SmallFile)
	if err != nil {
		return "", fmt.Errorf("the folder is no environment of OpenEnv: %w", err)
	}
	var manifest struct {
		App string `yaml:"app"`
	}
	if err := yaml.Unmarshal(data, &manifest); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if manifest.App == "" {
		return "server.app:app", nil
	}
	if !packageName.MatchString(manifest.App) {
		return "", fmt.Errorf("%s: app is %q; it must be of the form module:attribute, as server.app:app", file,
			manifest.App)
	}
	return manifest.App, nil
}

// texts are the arguments that are text whatever they look like.
var texts = map[string]bool{"split": true, "show": true, "first": true, "prompt": true, "suffix": true, "fill": true,
	"extract": true, "template": true, "random": true}

// read reads the arguments.
func (a *arguments) read(query string, find func(string) string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the arguments: %w; write name=value, with & between them", err)
	}
	given := map[string]any{}
	if file := values.Get("template"); file != "" {
		data, err := disk.ReadFile(find(file), disk.SmallFile)
		if err == nil {
			err = yaml.Unmarshal(data, &given)
		}
		if err != nil {
			return fmt.Errorf("template: %w", err)
		}
	}
	a.reset = map[string]any{}
	own := map[string]any{}
	for name, list := range values {
		if len(list) > 1 {
			return fmt.Errorf("%s is given twice", name)
		}
		v := scalar(list[0])
		if key, is := strings.CutPrefix(name, "reset."); is {
			a.reset[key] = v
			continue
		}
		if texts[name] {
			v = list[0]
		}
		own[name] = v
	}
	maps.Copy(given, own)
	return a.take(arg.Read(given))
}

// scalar is JSON, or text where it is none.
func scalar(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}

// The defaults of arguments. Times and size are the defaults of OpenEnv's own client.
const (
	defaultTurns   = 32
	defaultTimeout = 60
	defaultConnect = 10
	defaultStart   = 120
	defaultMiB     = 100
)

// take checks the arguments.
func (a *arguments) take(given *arg.Reader) error {
	given.Text("template", "")
	a.split = given.Text("split", "")
	a.turns = given.Int("max_turns", defaultTurns, 1)
	a.strict = given.Bool("strict_seed", false)
	a.servers = given.Int("servers", 1, 1)
	a.invalid = given.Float("invalid_reward", 0)
	a.messageCap = int64(given.Int("max_message", defaultMiB, 1)) << 20
	for name, to := range map[string]*time.Duration{"timeout": &a.timeout, "connect_timeout": &a.connect,
		"start_timeout": &a.start} {
		seconds := given.Float(name, map[string]float64{"timeout": defaultTimeout, "connect_timeout": defaultConnect,
			"start_timeout": defaultStart}[name])
		given.Require(seconds > 0 && seconds < 1e6, name, seconds, "seconds above 0")
		*to = time.Duration(seconds * float64(time.Second))
	}
	t := &a.template
	t.prompt, t.suffix, t.fill = given.Text("prompt", ""), given.Text("suffix", ""), given.Text("fill", "")
	t.show, t.first = pathsOf(given.Text("show", "")), pathsOf(given.Text("first", ""))
	if t.first == nil {
		t.first = t.show
	}
	if text := given.Text("random", ""); text != "" {
		t.random = strings.Split(text, "|")
	}
	if text := given.Text("extract", ""); text != "" {
		var err error
		if t.extract, err = regexp.Compile(text); err != nil {
			given.Wrong("extract", text, "a regular expression of RE2: "+err.Error())
		}
	}
	return given.Close()
}
