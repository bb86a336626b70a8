package main

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"sync"
)

// passwordRounds makes the check of a password take about a tenth of a second: so limit
// logins before the check.
var passwordRounds = 600_000

// accounts is in place of a database of customers. It keeps hashes of passwords and API
// keys only.
type accounts struct {
	secret []byte // for the hashes of API keys
	plans  *planCache

	mu    sync.RWMutex
	users map[string]*user
	owner map[[sha256.Size]byte]string // of an API key, by its hash
}

type user struct {
	salt, password []byte
	plan           string
}

func newAccounts(secret []byte) *accounts {
	a := &accounts{secret: secret, users: make(map[string]*user), owner: make(map[[sha256.Size]byte]string)}
	a.plans = &planCache{lookup: a.planOf, kept: make(map[string]keptPlan)}
	return a
}

func (a *accounts) add(name, password, plan string) {
	u := &user{salt: []byte(rand.Text()), plan: plan}
	u.password = hashPassword(password, u.salt)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[name] = u
}

// check reports whether the password is right. An unknown user takes the same time.
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

// newKey returns a new API key for a user. It is not stored.
func (a *accounts) newKey(name string) string {
	key := "wk_" + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner[a.hash(key)] = name
	return key
}

// byKey returns the owner of an API key.
func (a *accounts) byKey(key string) (name string, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	name, ok = a.owner[a.hash(key)]
	return name, ok
}

// planOf returns a user's plan from the database; empty: none.
func (a *accounts) planOf(_ context.Context, name string) (string, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if u := a.users[name]; u != nil {
		return u.plan, nil
	}
	return "", nil
}

func (a *accounts) setPlan(name, plan string) {
	a.mu.Lock()
	if u := a.users[name]; u != nil {
		u.plan = plan
	}
	a.mu.Unlock()
	a.plans.forget(name)
}

// hash is keyed, so a reader of the database can't try API keys.
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
