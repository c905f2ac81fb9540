// Package tiny carries the example model, its data and its configurations, so that the program finds them outside a
// clone of the project.
package tiny

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
)

//go:embed *.yaml algorithms data expert model teacher guess/*.yaml guess/model guess/seeds games/*.yaml games/model
var files embed.FS

// Files is the folder examples/tiny.
func Files() fs.FS { return files }

// Version names the content: the same files have the same version.
func Version() string {
	h := sha256.New()
	fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := files.ReadFile(path) // embedded files can be read
			h.Write([]byte(path))
			h.Write(data)
		}
		return err
	})
	return "tiny-" + hex.EncodeToString(h.Sum(nil))[:16]
}
