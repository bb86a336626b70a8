package weir

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/goweir/weir/internal/digest"
	"github.com/goweir/weir/internal/httptoken"
)

// KeyAPIKey returns a KeyFunc whose key is a hash of the API key in a header. Its
// error is ErrNoKey if the header is missing or empty, ErrMalformedKey if it is on
// several lines or over 16 KiB long. The API key itself is
// neither stored nor logged.
//
// The hash is HMAC-SHA256 with the secret, or SHA-256 if the secret is empty. Its
// first 128 bits are the key, as 22 characters of base64url. Without a secret, a
// reader of the store can confirm a guessed API key, and find weak ones by trying.
// All processes that share a store need the same secret; a new secret gives every
// client a fresh allowance once.
//
// On a server the client controls the header, and each invented API key is a
// fresh allowance: mount the limit behind the check that the API key is valid.
func KeyAPIKey(header string, secret []byte) KeyFunc {
	return keyCredential("KeyAPIKey.header", header, "weir api key", secret, nil)
}

// KeyBearer returns a KeyFunc whose key is a hash of the token in the header
// Authorization: Bearer (RFC 6750), made as by [KeyAPIKey]. The same text as token
// and as API key gives two keys.
//
//	error            when
//	ErrNoKey         there is no such header, no token, or another scheme
//	ErrMalformedKey  there are several Authorization headers, the header is over 16 KiB
//	                 long, or the text after the scheme is not one token of RFC 6750
//
// On a server the client controls the header, and each invented token is a
// fresh allowance: mount the limit behind the check that the token is valid.
// KeyBearer counts tokens, not users. If a user can get several tokens, as by
// refreshing a JWT, use [KeyContext] with the user's ID.
func KeyBearer(secret []byte) KeyFunc {
	return keyCredential("KeyBearer", "Authorization", "weir bearer token", secret, bearerToken)
}

// keyCredential returns a KeyFunc whose key is a hash of a header's value, or of the part
// that read returns; nil: of all of it. read's second argument is the error of no identity.
// Equal credentials of two domains have different keys: a domain ends in NUL, so that none is
// the start of another.
func keyCredential(field, header, domain string, secret []byte, read func(string, error) (string, error)) KeyFunc {
	h, err := newOneHeader(field, header, maxCredential)
	if err != nil {
		return keyError(err)
	}
	hash := digest.New(secret)
	return func(r *http.Request) (string, error) {
		v, err := h.value(r)
		if err == nil && read != nil {
			v, err = read(v, h.none)
		}
		if err != nil {
			return "", err
		}
		return string(hash.Append(make([]byte, 0, 22), base64.RawURLEncoding, 16, domain, v)), nil
	}
}

// maxCredential bounds a header that is hashed, in bytes: twice the line that
// proxies take by default, so that real credentials are below it.
const maxCredential = 16 << 10

var errMalformedBearer = fmt.Errorf("%w: the bearer token in the Authorization header", ErrMalformedKey)

// bearerToken returns the token of trimmed credentials, or the error none if they
// hold no bearer token. Text that another parser might take for a token is
// malformed instead, so that a policy for requests without identity never applies
// to an authenticated request.
func bearerToken(credentials string, none error) (string, error) {
	n := httptoken.Len(credentials)
	scheme, rest := credentials[:n], credentials[n:]
	if !strings.EqualFold(scheme, "Bearer") || rest == "" {
		return "", none
	}
	token := strings.TrimLeft(rest, " ")
	if token == rest || !httptoken.Is68(token) {
		return "", errMalformedBearer
	}
	return token, nil
}
