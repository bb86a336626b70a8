// Package weirtest is for the tests of programs that limit their traffic: a
// provider that enforces limits by its own clock and speaks the dialect of your
// choice, and a store that refuses, fails or blocks on command.
//
// Both work in a bubble of testing/synctest, where an hour takes no time and
// nothing depends on the machine. There a [Provider] is reached through
// [Provider.Transport], as sockets do not work in a bubble. A [Server] is the
// same behind a socket, for tests with several processes.
//
//	func TestClientStaysWithinTheLimit(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			provider, err := weirtest.NewProvider(weirtest.ProviderConfig{
//				Limits: []weir.Limit{weir.Per(25, 5*time.Second).By(weir.SlidingWindow)},
//			})
//			if err != nil {
//				t.Fatal(err)
//			}
//			client := newClient(t, provider.Transport()) // yours, with its limiter
//			for range 200 {
//				res, err := client.Get("https://api.example.com/v1/things")
//				if err != nil {
//					t.Fatal(err)
//				}
//				res.Body.Close()
//			}
//			if n := provider.Counts().Refused(); n > 0 {
//				t.Errorf("%d requests were refused, want none", n)
//			}
//			if n := provider.MaxIn(5 * time.Second); n != 25 {
//				t.Errorf("at most %d requests in 5 s, want all 25 that are allowed", n)
//			}
//		})
//	}
//
// The provider counts with code of its own, of which the stores have nothing:
// what is judged and the judge do not make the same mistake.
//
// A Provider keeps a bounded number of [Arrivals], its Counts for ever, and of
// a key only what the limits need: a key whose limits are as if never used is
// forgotten while others come. A sliding window takes 16 bytes for each instant
// at which something was admitted within its period.
package weirtest
