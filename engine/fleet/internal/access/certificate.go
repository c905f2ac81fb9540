package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// ServerName is the name in the certificates that the head makes. Workers ask for it whatever address they use: the
// authority that signs it is the fleet's own and is in their credentials.
const ServerName = "fleet.trinity"

const (
	authorityYears = 10
	serverDays     = 398
)

// Certificate is the embedded server's certificate, and the authority that signed it.
type Certificate struct {
	TLS        tls.Certificate
	CA         []byte // PEM; nil: the system's
	ServerName string // "" for a given certificate
}

// LoadCertificate reads a given certificate and key. ca is a PEM file for the workers' credentials, or "".
func LoadCertificate(cert, key, ca string) (Certificate, error) {
	var c Certificate
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return c, fmt.Errorf("fleet: certificate %s with key %s: %w", cert, key, err)
	}
	c.TLS = pair
	if ca == "" {
		return c, nil
	}
	if c.CA, err = os.ReadFile(ca); err == nil && !x509.NewCertPool().AppendCertsFromPEM(c.CA) {
		err = errors.New("no certificate in it")
	}
	if err != nil {
		return c, fmt.Errorf("fleet: certificate authority %s: %w", ca, err)
	}
	return c, nil
}

// MakeCertificate signs a new certificate with the authority in a folder, which it makes at first.
func MakeCertificate(dir string) (Certificate, error) {
	authority, key, err := openAuthority(dir)
	if err != nil {
		return Certificate{}, fmt.Errorf("fleet: certificate authority: %w", err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("fleet: certificate: %w", err)
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: ServerName},
		DNSNames: []string{ServerName}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, serverDays),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, &own.PublicKey, key)
	if err != nil {
		return Certificate{}, fmt.Errorf("fleet: certificate: %w", err)
	}
	return Certificate{TLS: tls.Certificate{Certificate: [][]byte{der, authority.Raw}, PrivateKey: own},
		CA: pemOf("CERTIFICATE", authority.Raw), ServerName: ServerName}, nil
}

// openAuthority reads ca.pem and ca.key, or makes both.
func openAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if errors.Is(err, fs.ErrNotExist) {
		return makeAuthority(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	secret, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(data)
	hidden, _ := pem.Decode(secret)
	if block == nil || hidden == nil {
		return nil, nil, fmt.Errorf("ca.pem or ca.key in %s is damaged; remove both and hand out worker.creds anew",
			dir)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(hidden.Bytes)
	return cert, key, err
}

func makeAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "trinity fleet"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	// The key first: a kill between the two leaves no ca.pem, and both are made again.
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), pemOf("EC PRIVATE KEY", secret), 0o600); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), pemOf("CERTIFICATE", der), 0o644); err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
