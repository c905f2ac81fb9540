package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// keyCmd manages the keys of a server.
type keyCmd struct {
	Add    keyAdd    `cmd:"" help:"Create a key and print it; only its hash is stored."`
	List   keyList   `cmd:"" help:"List the keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key immediately."`
}

// openKeys reads the keys of a server, which always requires one, or only if there are any.
func (d dataFlag) openKeys(always bool) (*server.KeyFile, error) {
	return server.OpenKeyFile(filepath.Join(d.Data, "keys.json"), always)
}

type keyAdd struct {
	dataFlag
	Name     string `arg:"" help:"The name of the key's owner."`
	Operator bool   `help:"The key may see who uses the server: GET /tenants, and trinity studio URL."`
}

// Run implements the command.
func (c *keyAdd) Run(s *surroundings) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	f, err := c.openKeys(false)
	if err != nil {
		return err
	}
	key, ok, err := f.Add(c.Name, c.Operator)
	if err != nil {
		return err
	}
	if !ok {
		return usageError{fmt.Errorf("serve: %s already has a key; revoke it first, or choose another name", c.Name)}
	}
	fmt.Fprintln(s.err, "this key is shown only once:")
	fmt.Fprintln(s.out, key)
	return nil
}

type keyList struct{ dataFlag }

// Run implements the command.
func (c *keyList) Run(s *surroundings) error {
	f, err := c.openKeys(false)
	if err != nil {
		return err
	}
	for _, k := range f.List() {
		fmt.Fprintf(s.out, "%-20s %s  sha256 %.12s…", k.Name, k.Created.Format(time.RFC3339), k.Hash)
		if k.Tenant != "" {
			fmt.Fprintf(s.out, "  tenant %.12s…", k.Tenant)
		}
		if k.Operator {
			fmt.Fprint(s.out, "  operator")
		}
		fmt.Fprintln(s.out)
	}
	return nil
}

type keyRevoke struct {
	dataFlag
	Name string `arg:"" help:"The name of the key's owner."`
}

// Run implements the command.
func (c *keyRevoke) Run(s *surroundings) error {
	f, err := c.openKeys(false)
	if err != nil {
		return err
	}
	ok, err := f.Revoke(c.Name)
	if err == nil && !ok {
		return usageError{fmt.Errorf("serve: %s has no key; trinity serve key list shows all keys", c.Name)}
	}
	return err
}
