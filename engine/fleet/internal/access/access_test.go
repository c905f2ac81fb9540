package access

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestKeysAndCredentialsStay(t *testing.T) {
	dir := t.TempDir()
	k, err := Open(dir, "a job/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Remove("UX", "it lies"); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, "another name")
	if err != nil {
		t.Fatal(err)
	}
	if again.Names != k.Names || again.AccountKey() != k.AccountKey() || !bytes.Equal(again.Secret, k.Secret) ||
		again.Removed("UX") != "it lies" || again.Removed("UY") != "" {
		t.Errorf("keys read again differ: %+v and %+v", again.Names, k.Names)
	}
	c, err := k.EnrolUser()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := MakeCertificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.CA, c.Place.URL, c.Place.ServerName = cert.CA, "nats://h:1", ServerName
	path := filepath.Join(dir, "x.creds")
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || got.JWT != c.JWT || got.Seed != c.Seed || got.Place != c.Place || !bytes.Equal(got.CA, c.CA) {
		t.Errorf("credentials read again: %+v %v", got.Place, err)
	}
	for _, name := range []string{"x.creds", "keys.json", "ca.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v; want mode 0600", name, info.Mode(), err)
		}
	}
	other, err := MakeCertificate(dir)
	if err != nil || !bytes.Equal(other.CA, cert.CA) {
		t.Errorf("the authority was made anew: %v", err)
	}
}

func TestIdentitiesAreOfOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	a, release, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, releaseB, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseB()
	keyA, _ := a.PublicKey()
	keyB, _ := b.PublicKey()
	if keyA == keyB {
		t.Error("two workers have one identity")
	}
	release()
	c, releaseC, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseC()
	if keyC, _ := c.PublicKey(); keyC != keyA {
		t.Error("a worker that comes back has another identity")
	}
}

func FuzzParse(f *testing.F) {
	k, err := Open(f.TempDir(), "j")
	if err != nil {
		f.Fatal(err)
	}
	c, err := k.EnrolUser()
	if err != nil {
		f.Fatal(err)
	}
	data, err := c.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := c.Encode(); err != nil {
			t.Fatal(err)
		}
	})
}
