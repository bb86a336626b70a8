// Package limitfile reads limits from a file that may change while a program
// runs: plans by name, the default plan, and limits of single keys.
//
//	default: free                 # the plan of customers without another
//
//	plans:
//	  free: [10/s, 1000/h]        # all limits must admit a request
//	  pro:
//	    - 25 per 5 s
//	    - {rate: 300, per: 1m, algorithm: sliding_window, name: minute}
//	    - {rate: 100_000, per: day, burst: 2_000}
//
//	keys:                         # these keys have something else
//	  acme: pro                   # another plan
//	  "user:42": [1/s]            # limits of their own
//
// default and plans are required. A plan has 1 to 16 limits, each with its own name. A
// file has at most 1 MiB, which is about 30 000 keys.
//
//	limit      10/s or 10 per s, a GCRA limit; or a mapping
//	rate, per  required in a mapping: units, and a time
//	burst      optional, of GCRA: units
//	algorithm  gcra (default), sliding_window, sliding_counter, fixed_window
//	           or aligned_window
//	name       optional: see [weir.Limit]
//	a time     numbers with units from µs (us) over ms, s, m, h and d to w, in full
//	           or short: 90s, 1m30s, 1.5 h, 2 days, minute
//
// The file is YAML without aliases, and so may be JSON, whatever its name. In JSON, write
// characters beyond U+FFFF as they are: YAML has no pairs of \u escapes.
//
// A key in the file is the key that the key function returns: from [weir.KeyFirst] it is
// 0|acme. [weir.KeyAPIKey] and [weir.KeyBearer] return a hash, so the file holds no
// credentials; the example of Parse prints one. In a shell, for an API key $KEY and the
// secret $SECRET (without a secret, leave -hmac "$SECRET" out):
//
//	printf 'weir api key\0%s' "$KEY" | openssl dgst -sha256 -hmac "$SECRET" -binary |
//		head -c 16 | base64 | tr '+/' '-_' | tr -d '='
//
// # Mistakes
//
// A file holds whole or not at all. An unknown or repeated name, a plan that does
// not exist, a number out of bounds or of another type, a second document: each is
// an [Error] with file, line, column and field. All mistakes of a file are reported
// together:
//
//	limitfile: limits.yaml:7:14: plans.free[1].rate: want a whole number of 1 to 2^50, got the number 0
//
// # Changes
//
// [Open] reads the file again and again and swaps all limits at once. While the file
// is missing or wrong the last good limits hold, and the log reports it once: an
// alert comes from a [slog.Handler], or from [File.Err] in a health check.
//
// Reading, unlike a system's events, works the same on every file system, and with every
// way of replacing a file: written in place, renamed over, or a symbolic link that moves,
// as with the ConfigMaps of Kubernetes. Replace a file by renaming: a file that is written
// in place, slower than the interval, may be right before it is complete.
//
// The used share carries over to changed limits, as in [weir.Limiter.AllowLimits]. No
// memory is used per user: a lookup is in two maps that are as large as the file.
package limitfile
