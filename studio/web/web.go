// Package web holds the studio's pages: plain ES modules, style sheets and the libraries they use. The binary carries
// them. Nothing is built or fetched: a browser loads the files of this folder. Texts that a model or a data set
// wrote reach the page as text nodes only (js/dom.js), so that the server may forbid inline scripts and styles.
package web

import "embed"

// Files are the pages. index.html is at the root; js, css and npm lie beside it.
//
//go:embed index.html js css npm/uplot npm/katex
var Files embed.FS
