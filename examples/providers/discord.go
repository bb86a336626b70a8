package providers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// Discord returns a client for one bot. The limits of routes are not documented:
// responses announce them, and slow the route's key down.
//
//	discord/route    each method and route, with its channel, guild or webhook
//	discord/global   50 requests per second
func Discord(store weir.Store, token string, base http.RoundTripper) (*http.Client, error) {
	key := perToken("Authorization")
	route, err := level(store, "discord/route", weir.KeyJoin(key, discordRoute), weir.Outbound(50, time.Second))
	if err != nil {
		return nil, err
	}
	global, err := level(store, "discord/global", key, weir.Outbound(50, time.Second))
	if err != nil {
		return nil, err
	}
	return newClient("discord.com", header{"Authorization", "Bot " + token}, base, route, global)
}

// discordRoute is a path without the identifiers after its first one:
// GET /api/v10/channels/1/messages/:id.
func discordRoute(r *http.Request) (string, error) {
	parts := strings.Split(r.URL.Path, "/")
	for i := 5; i < len(parts); i++ {
		if strings.Trim(parts[i], "0123456789") == "" {
			parts[i] = ":id"
		}
	}
	return r.Method + " " + strings.Join(parts, "/"), nil
}
