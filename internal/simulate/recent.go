package simulate

// recent counts the calls of one key in the last window.
type recent struct {
	calls []leaving
	first int // the oldest live one
	count int64
}

type leaving struct{ at, calls int64 }

// add adds a call, not before the one in front of it. It returns the number of calls in
// the window that ends with this call.
func (r *recent) add(at, window int64) int64 {
	for r.first < len(r.calls) && r.calls[r.first].at+window <= at {
		r.count -= r.calls[r.first].calls
		r.first++
	}
	if r.first > len(r.calls)/2 {
		r.calls = r.calls[:copy(r.calls, r.calls[r.first:])]
		r.first = 0
	}
	r.count++
	if n := len(r.calls); n > 0 && r.calls[n-1].at == at {
		r.calls[n-1].calls++
	} else {
		r.calls = append(r.calls, leaving{at, 1})
	}
	return r.count
}

// newest returns the time of the newest call; 0: there is none.
func (r *recent) newest() int64 {
	if n := len(r.calls); n > 0 {
		return r.calls[n-1].at
	}
	return 0
}
