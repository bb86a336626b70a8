// Package weirtest helps to test programs that limit their traffic. A [Provider]
// enforces limits by its own clock. A [Store] refuses, fails or blocks on command.
//
// Both work in a bubble of testing/synctest, where an hour takes no time and the
// machine's speed does not matter. There [Provider.Transport] replaces the sockets,
// which do not work in a bubble. A [Server] is a Provider behind a socket, for tests
// with several processes.
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
// [ProviderConfig].Hook writes the rate headers of the provider that the test stands
// for.
//
// [NewLLM] makes a Provider of language models, which counts tokens and streams its
// answers.
//
// The provider counts with code of its own and none of the stores', so the two do
// not share mistakes.
//
// A Provider keeps its Counts for ever, and a bounded number of [Arrivals]. Keys
// with unused limits are forgotten while others come. A sliding window takes 16
// bytes for each instant of its period with an admitted request.
package weirtest
