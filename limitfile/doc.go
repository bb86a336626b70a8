// Package limitfile reads limits from a file that may change while a program
// runs: plans by name, the default plan, and limits of single keys.
//
//	default: free                 # the plan of everybody who has no other
//
//	plans:
//	  free: [10/s, 1000/h]        # a request is admitted by all of them
//	  pro:
//	    - 25 per 5 s
//	    - {rate: 300, per: 1m, algorithm: sliding_window, name: minute}
//	    - {rate: 100_000, per: day, burst: 2_000}
//
//	keys:                         # these keys have something else
//	  acme: pro                   # another plan
//	  "user:42": [1/s]            # limits of their own
//
// default and plans are required, everything else is not. A limit is written as
// 10/s or 10 per s, which is a GCRA limit, or as a mapping with rate and per, and
// burst, algorithm and name as the fields of [weir.Limit] have them; algorithms
// are gcra, sliding_window, sliding_counter, fixed_window and aligned_window. A
// time is a number with a unit from µs (us) over ms, s, m, h and d to w, in full
// or short, or several of them: 90s, 1m30s, 1.5 h, 2 days, minute. A plan has 1
// to 16 limits, no two of the same name.
//
// A key in the file is what the key function returns. Of [weir.KeyAPIKey] and
// [weir.KeyBearer] that is a hash, so the file holds no credentials; see the
// example of Parse for how to get it. For an API key in a shell, the secret being
// $SECRET (without one, leave -hmac and what follows it out):
//
//	printf 'weir api key\0%s' "$KEY" | openssl dgst -sha256 -hmac "$SECRET" -binary |
//		head -c 16 | base64 | tr '+/' '-_' | tr -d '='
//
// # Mistakes
//
// A file is taken whole or not at all. A name that is not one of those above, one
// that is there twice, a plan that does not exist, a number out of bounds or of
// another type, a second document: each is an [Error] with file, line, column and
// field, and all of a file are reported together:
//
//	limitfile: limits.yaml:7:14: plans.free[1].rate: want a whole number of 1 to 2^50, got the number 0
//
// # Changes
//
// [Open] reads the file again and again and swaps what it says as a whole. While
// it is missing or wrong the last good limits hold, and OnError and the log are
// told, once. Reading instead of asking the system for events works the same on
// every system and file system, and with every way of replacing a file: written
// in place, renamed over, or a symbolic link that moves, as with the ConfigMaps of
// Kubernetes. Replace a file by renaming: one that is written in place, slower
// than the interval, may be right before it is complete.
//
// Limits that change keep what was used of them, as in
// [weir.Limiter.AllowLimits]. Nothing is kept per user: a lookup is in two maps
// that are as large as the file.
package limitfile
