package web_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is a browser that is spoken to over two pipes in the Chrome DevTools Protocol
// (https://chromedevtools.github.io/devtools-protocol/): messages are JSON, each ended by NUL.
type chromium struct {
	cmd     *exec.Cmd // nil until it is started
	profile string
	to      *os.File
	mu      sync.Mutex
	last    int
	wait    map[int]chan message
	tabs    map[string]*tab
	gone    chan struct{}
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// browser is one for all tests, which each have a profile of their own in it (open): its start takes most of a second.
var browser = &chromium{wait: map[int]chan message{}, tabs: map[string]*tab{}, gone: make(chan struct{})}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.cmd != nil {
		browser.call("", "Browser.close", nil) // an error means that it is closed already
		browser.to.Close()
		<-browser.gone
		browser.cmd.Wait()
		os.RemoveAll(browser.profile)
	}
	os.Exit(code)
}

// startChromium starts the browser, unless it runs, and skips the test where there is no Chromium.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium found: install Debian's package chromium to test the pages")
	}
	if browser.cmd == nil {
		if err := browser.start(path); err != nil {
			t.Fatal(err)
		}
	}
	return browser
}

func (b *chromium) start(path string) (err error) {
	if b.profile, err = os.MkdirTemp("", "studio-chromium"); err != nil {
		return err
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+b.profile)
	toChild, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, fromChild, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{toChild, fromChild} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		return err
	}
	toChild.Close()
	fromChild.Close()
	b.cmd, b.to = cmd, to
	go b.read(from)
	return nil
}

func (b *chromium) read(from *os.File) {
	defer close(b.gone)
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.wait[m.ID]; m.ID != 0 && c != nil {
			delete(b.wait, m.ID)
			c <- m
		} else if tab := b.tabs[m.Session]; tab != nil {
			tab.event(m)
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for its result.
func (b *chromium) call(session, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, Session: session, Method: method, Params: raw}
	if params == nil {
		m.Params = nil
	}
	answer := make(chan message, 1)
	b.wait[m.ID] = answer
	line, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(line, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	case <-b.gone:
		return nil, errors.New("chromium is gone")
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("%s: no answer in a minute", method)
	}
}

// tab is a page. problems are exceptions, refused scripts or styles, failed loads, and requests that leave the studio.
type tab struct {
	b        *chromium
	t        *testing.T
	id, base string
	problems []string // under b.mu
}

// open makes a tab at an address of the studio at base, in a new profile.
func (b *chromium) open(t *testing.T, base, hash string) *tab {
	t.Helper()
	var profile struct {
		ID string `json:"browserContextId"`
	}
	var target struct {
		ID string `json:"targetId"`
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	p := &tab{b: b, t: t, base: base}
	p.must("Target.createBrowserContext", nil, &profile)
	t.Cleanup(func() { b.call("", "Target.disposeBrowserContext", profile) })
	p.must("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": profile.ID}, &target)
	p.must("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &session)
	p.id = session.ID
	b.mu.Lock()
	b.tabs[p.id] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.must(domain+".enable", nil, nil)
	}
	p.size(1280, 900)
	p.theme("light")
	p.must("Page.navigate", map[string]any{"url": base + "/" + hash}, nil)
	p.ready()
	return p
}

func (p *tab) event(m message) {
	var e struct {
		Entry   struct{ Level, Text, URL string }
		Details struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
		Request struct{ URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Log.entryAdded":
		if e.Entry.Level == "error" {
			p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, e.Details.Text+" "+e.Details.Exception.Description)
	case "Network.requestWillBeSent":
		u, err := url.Parse(e.Request.URL)
		if err == nil && u.Scheme != "data" && u.Scheme+"://"+u.Host != p.base {
			p.problems = append(p.problems, "a request to "+e.Request.URL)
		}
	}
}

// clean fails the test if anything went wrong in the page since the last call.
func (p *tab) clean(what string) {
	p.t.Helper()
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Errorf("%s: %s", what, problem)
	}
	p.problems = nil
}

func (p *tab) must(method string, params, into any) {
	p.t.Helper()
	raw, err := p.b.call(p.id, method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// js evaluates an expression, waits for it if it is a promise, and stores its value.
func (p *tab) js(expression string, into any) {
	p.t.Helper()
	var r struct {
		Result  struct{ Value json.RawMessage }
		Details *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	p.must("Runtime.evaluate",
		map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.Details != nil {
		p.t.Fatalf("%s: %s %s", expression, r.Details.Text, r.Details.Exception.Description)
	}
	if into != nil {
		if err := json.Unmarshal(r.Result.Value, into); err != nil {
			p.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// until waits for an expression to become true.
func (p *tab) until(expression string) {
	p.t.Helper()
	ok := false
	p.js(`new Promise(done => { const end = Date.now() + 50000; (function look() {
		let ok = false; try { ok = Boolean(`+expression+`) } catch {}
		ok || Date.now() > end ? done(ok) : setTimeout(look, 20) })() })`, &ok)
	if !ok {
		var text string
		p.js(`location.hash + "\n" + document.body.innerText.slice(0, 1500)`, &text)
		p.t.Fatalf("never true: %s\nthe page shows: %s", expression, text)
	}
}

// ready waits until a view is shown.
func (p *tab) ready() {
	p.t.Helper()
	p.until(`document.querySelector("main h1") && document.querySelector("main").dataset.shown ===
		location.hash.replace(/^#\/?|\?.*$/g, "") && !document.querySelector("main td")?.textContent.startsWith("…")`)
}

// at opens another address of the studio in the same tab.
func (p *tab) at(hash string) {
	p.t.Helper()
	quoted, _ := json.Marshal(hash)
	p.js(`document.querySelector("main").replaceChildren(), document.querySelector("main").dataset.shown = "",
		location.hash === `+string(quoted)+
		` ? dispatchEvent(new Event("hashchange")) : location.hash = `+string(quoted), nil)
	p.ready()
}

// keys presses keys: characters, or names such as Enter and ArrowRight.
func (p *tab) keys(keys ...string) {
	p.t.Helper()
	codes := map[string]int{"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
		"ArrowDown": 40, "Tab": 9}
	for _, key := range keys {
		down := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
		switch {
		case key == "Enter":
			down["text"] = "\r"
		case codes[key] == 0:
			down["text"] = key
		}
		p.must("Input.dispatchKeyEvent", down, nil)
		up := map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]}
		p.must("Input.dispatchKeyEvent", up, nil)
	}
}

func (p *tab) size(width, height int) {
	p.t.Helper()
	p.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": 1, "mobile": false}, nil)
}

// theme is what the system prefers: light or dark.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.must("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// shot writes a picture of what the window shows.
func (p *tab) shot(file string) {
	p.t.Helper()
	var picture struct{ Data string }
	p.must("Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": false}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// has fails the test if the view's text lacks one of the words.
func (p *tab) has(words ...string) {
	p.t.Helper()
	var text string
	p.js(`document.querySelector("main").textContent`, &text)
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.t.Errorf("the view lacks %q: %.600s", w, text)
		}
	}
}
