package access

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Place says where a fleet is.
type Place struct {
	Job        string `json:"job"`
	URL        string `json:"url,omitempty"`
	ServerName string `json:"server_name,omitempty"` // that the certificate must have, if not the URL's host
}

// Credentials are a file for one user: NATS's two blocks, the place of the fleet, and the certificates that vouch for
// the server. Programs of NATS read the same file.
type Credentials struct {
	JWT   string // "" on a server without users
	Seed  string
	Place Place
	CA    []byte // PEM; nil: the system's
}

// placeBlock is the type of the PEM block of a Place.
const placeBlock = "TRINITY FLEET"

// maxFile is the largest credentials file, in bytes.
const maxFile = 1 << 20

// Encode writes the file's content.
func (c Credentials) Encode() ([]byte, error) {
	var out []byte
	if c.JWT != "" {
		text, err := jwt.FormatUserConfig(c.JWT, []byte(c.Seed))
		if err != nil {
			return nil, fmt.Errorf("fleet: credentials: %w", err)
		}
		out = text
	}
	place, err := json.Marshal(c.Place)
	if err != nil {
		return nil, fmt.Errorf("fleet: credentials: %w", err)
	}
	out = append(out, '\n')
	out = append(out, pem.EncodeToMemory(&pem.Block{Type: placeBlock, Bytes: place})...)
	return append(out, c.CA...), nil
}

// Save writes the file, readable by its owner alone.
func (c Credentials) Save(path string) error {
	data, err := c.Encode()
	if err != nil {
		return err
	}
	if err := writeSecret(path, data); err != nil {
		return fmt.Errorf("fleet: credentials: %w", err)
	}
	return nil
}

// writeSecret replaces a file in one step by one that only its owner reads.
func writeSecret(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // 0600 from the beginning
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return disk.OS().SyncDir(filepath.Dir(path))
}

// Read reads a credentials file. A file of another program, without a place, is fine.
func Read(path string) (Credentials, error) {
	data, err := disk.ReadFile(path, maxFile)
	if err != nil {
		return Credentials{}, fmt.Errorf("fleet: credentials: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return c, fmt.Errorf("fleet: credentials %s: %w", path, err)
	}
	return c, nil
}

// Parse reads the content of a credentials file.
func Parse(data []byte) (Credentials, error) {
	var c Credentials
	text, err := jwt.ParseDecoratedJWT(data)
	if err != nil {
		return c, err
	}
	if _, err := jwt.DecodeUserClaims(text); err == nil {
		pair, err := nkeys.ParseDecoratedUserNKey(data)
		if err != nil {
			return c, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return c, err
		}
		c.JWT, c.Seed = text, string(seed)
	}
	for rest := data; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		switch b.Type {
		case placeBlock:
			if err := json.Unmarshal(b.Bytes, &c.Place); err != nil {
				return c, fmt.Errorf("its place: %w", err)
			}
		case "CERTIFICATE":
			if _, err := x509.ParseCertificate(b.Bytes); err != nil {
				return c, fmt.Errorf("its certificate: %w", err)
			}
			c.CA = append(c.CA, pem.EncodeToMemory(b)...)
		}
	}
	if c.JWT == "" && c.Place.Job == "" {
		return c, fmt.Errorf("it has no credentials; use worker.creds of the head's folder fleet/")
	}
	return c, nil
}
