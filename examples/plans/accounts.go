package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"sync"
)

// passwordRounds makes checking a password take a tenth of a second or so:
// reason enough to limit logins before the password is looked at.
var passwordRounds = 600_000

// accounts stands for a database of customers. It keeps neither passwords nor
// API keys, only hashes of them.
type accounts struct {
	secret []byte // of the hashes of API keys

	mu    sync.RWMutex
	users map[string]*user
	owner map[[sha256.Size]byte]string // who an API key belongs to, by its hash
}

type user struct {
	salt, password []byte
	plan           string
}

func newAccounts(secret []byte) *accounts {
	return &accounts{secret: secret, users: make(map[string]*user), owner: make(map[[sha256.Size]byte]string)}
}

func (a *accounts) add(name, password, plan string) {
	u := &user{salt: []byte(rand.Text()), plan: plan}
	u.password = hashPassword(password, u.salt)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[name] = u
}

// check reports whether the password is right. That there is no such user
// takes as long to find out.
func (a *accounts) check(name, password string) bool {
	a.mu.RLock()
	u := a.users[name]
	a.mu.RUnlock()
	if u == nil {
		hashPassword(password, []byte("nobody's"))
		return false
	}
	return hmac.Equal(hashPassword(password, u.salt), u.password)
}

// newKey returns a new API key for a user, who is the only one to have it.
func (a *accounts) newKey(name string) string {
	key := "wk_" + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner[a.hash(key)] = name
	return key
}

// byKey returns whose an API key is.
func (a *accounts) byKey(key string) (name string, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	name, ok = a.owner[a.hash(key)]
	return name, ok
}

// plan returns a user's plan.
func (a *accounts) plan(name string) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if u := a.users[name]; u != nil {
		return u.plan
	}
	return ""
}

func (a *accounts) setPlan(name, plan string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u := a.users[name]; u != nil {
		u.plan = plan
	}
}

// hash is keyed, so that whoever reads the database can't try API keys.
func (a *accounts) hash(key string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, a.secret)
	h.Write([]byte(key))
	h.Sum(sum[:0])
	return sum
}

func hashPassword(password string, salt []byte) []byte {
	hash, err := pbkdf2.Key(sha256.New, password, salt, passwordRounds, sha256.Size)
	if err != nil {
		panic(err) // the parameters above are wrong
	}
	return hash
}
