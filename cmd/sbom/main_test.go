package main

import (
	"os"
	"testing"
)

// TestDescribe: the test's own binary names the module and what it was built with.
func TestDescribe(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := describe(path)
	if err != nil {
		t.Fatal(err)
	}
	c := doc.Metadata.Component
	if c.Type != "application" || c.Name == "" || len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 {
		t.Errorf("component %+v", c)
	}
	if _, err := describe("main.go"); err == nil {
		t.Error("a text file was described")
	}
}
