package main

import (
	"bytes"
	"embed"
	"strings"
	"text/template"
)

//go:embed files
var files embed.FS

// channels are the files that point to the archives: the scripts that install, a formula and a manifest.
func channels(version, address string, sums map[string]string) map[string][]byte {
	of := func(platform string) map[string]string {
		for name, sum := range sums {
			if strings.HasPrefix(name, "trinity-"+version+"-"+platform) {
				return map[string]string{"url": address + "/" + name, "sum": sum}
			}
		}
		return nil
	}
	all := map[string][]byte{}
	names := []string{"install.sh", "install.ps1"}
	if address != "" {
		names = append(names, "trinity.rb", "trinity.json")
	}
	for _, name := range names {
		more := template.FuncMap{"of": of, "of_systems": systems}
		t := template.Must(template.New(name).Delims("<<", ">>").Funcs(more).ParseFS(files, "files/"+name))
		var out bytes.Buffer
		if err := t.Execute(&out, map[string]string{"version": version, "address": address}); err != nil {
			panic(err) // a template of this package
		}
		all[name] = out.Bytes()
	}
	return all
}

// systems are Homebrew's names of operating systems.
func systems() map[string]string { return map[string]string{"darwin": "macos", "linux": "linux"} }
