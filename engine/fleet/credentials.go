package fleet

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// creds is the path of the credentials file that workers need.
func (l *line) creds() string { return filepath.Join(l.o.Dir, "worker.creds") }

// writeCredentials writes worker.creds and admin.creds. Both stay valid over starts of the head.
func (l *line) writeCredentials() error {
	if l.o.URL != "" && l.o.Signer == "" {
		return l.writeShared()
	}
	worker, err := l.keys.EnrolUser()
	if err != nil {
		return err
	}
	admin, err := l.keys.NewUser("admin", access.AdminRights(l.names))
	if err != nil {
		return err
	}
	for name, c := range map[string]access.Credentials{"worker.creds": worker, "admin.creds": admin} {
		c.Place, c.CA = l.place, l.ca
		if err := c.Save(filepath.Join(l.o.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeShared writes credentials for a cluster whose users its operator makes: all have those of the head. Who runs
// the cluster may hand out others, with the rights that examples/fleet/README.md lists.
func (l *line) writeShared() error {
	var c access.Credentials
	if l.o.Creds != "" {
		var err error
		if c, err = access.Read(l.o.Creds); err != nil {
			return err
		}
	}
	c.Place, c.CA = l.place, l.ca
	return errors.Join(c.Save(l.creds()), c.Save(filepath.Join(l.o.Dir, "admin.creds")))
}

// granted answers a worker that asks for credentials of its own. On a cluster without a signing key it has none: the
// cluster's users are its operator's.
func (l *line) granted(e message.Enrolment) message.Granted {
	if l.broker == nil && l.o.Signer == "" {
		return message.Granted{}
	}
	text, err := l.keys.UserJWT(e.Key, e.About.Name, access.WorkerRights(l.names, e.Key))
	if err != nil {
		return message.Granted{Refused: err.Error()}
	}
	return message.Granted{JWT: text}
}

// rotate makes new credentials for workers to join with. The old ones are refused.
func (l *line) rotate() error {
	if l.broker == nil {
		return fmt.Errorf("fleet: the credentials of %s are made by its operator", l.o.URL)
	}
	if err := l.keys.Rotate(); err != nil {
		return err
	}
	if err := l.broker.Renew(); err != nil {
		return err
	}
	return l.writeCredentials()
}

// revoke tells a worker that it is refused, and refuses its key from then on.
func (l *line) revoke(worker, reason string) {
	l.control(worker, message.Control{Refused: reason})
	err := l.nc.Flush()
	if err == nil {
		err = l.keys.Remove(worker, reason)
	}
	if err == nil && l.broker != nil {
		err = l.broker.Renew()
	}
	if err != nil {
		l.warn(err)
	}
}
