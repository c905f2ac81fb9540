package access

import (
	"cmp"
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// Rights are the subjects that a user may publish to and subscribe to.
type Rights struct{ Publish, Subscribe []string }

// HeadRights: the whole account.
func HeadRights() Rights { return Rights{[]string{">"}, []string{">"}} }

// EnrolRights: ask for credentials of one's own, and nothing else.
func EnrolRights(n message.Names) Rights {
	return Rights{[]string{n.Enrol("*")}, []string{n.Inbox("enrol") + ".>"}}
}

// WorkerRights: take the tasks given to this worker, answer them, read blobs, and say that it is there.
func WorkerRights(n message.Names, worker string) Rights {
	return Rights{
		Publish: []string{
			n.Announce(worker), n.Result(worker), n.Want(worker), n.Beat(worker), n.AnswersOf(worker),
			"$JS.API.DIRECT.GET." + n.Blobs() + "." + n.AllChunks(),
		},
		Subscribe: []string{n.Inbox(worker) + ".>", n.Task(worker), n.Control(worker), n.Pulse()},
	}
}

// AdminRights: ask the head to list, drain and remove workers.
func AdminRights(n message.Names) Rights {
	return Rights{[]string{n.Admin()}, []string{n.Inbox("admin") + ".>"}}
}

// UserJWT signs the rights of a user.
func (k *Keys) UserJWT(key, name string, r Rights) (string, error) {
	signer, err := nkeys.FromSeed([]byte(cmp.Or(k.signer, k.saved.Account)))
	if err != nil {
		return "", fmt.Errorf("fleet: the account's key: %w", err)
	}
	if !nkeys.IsValidPublicUserKey(key) {
		return "", fmt.Errorf("fleet: %.80q is not the public key of a user", key)
	}
	u := jwt.NewUserClaims(key)
	u.Name = name
	u.Permissions.Pub.Allow = r.Publish
	u.Permissions.Sub.Allow = r.Subscribe
	if k.account != "" && k.account != public(k.signer) {
		u.IssuerAccount = k.account
	}
	text, err := u.Encode(signer)
	if err != nil {
		return "", fmt.Errorf("fleet: credentials of %s: %w", name, err)
	}
	return text, nil
}

// NewUser makes a key and signs its rights.
func (k *Keys) NewUser(name string, r Rights) (Credentials, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Credentials{}, fmt.Errorf("fleet: %w", err)
	}
	seed, err := pair.Seed()
	if err != nil {
		return Credentials{}, fmt.Errorf("fleet: %w", err)
	}
	return k.user(string(seed), name, r)
}

// EnrolUser is the user of the credentials that all workers share.
func (k *Keys) EnrolUser() (Credentials, error) {
	k.mu.Lock()
	seed := k.saved.Join
	k.mu.Unlock()
	return k.user(seed, "enrol", EnrolRights(k.Names))
}

func (k *Keys) user(seed, name string, r Rights) (Credentials, error) {
	text, err := k.UserJWT(public(seed), name, r)
	return Credentials{JWT: text, Seed: seed, Place: Place{Job: k.Names.Job}}, err
}
