package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/upstream"
)

// pieces is a body that takes a time before each read.
type pieces struct {
	io.Reader
	slow   time.Duration
	closed chan struct{}
}

func (p *pieces) Read(b []byte) (int, error) {
	select {
	case <-time.After(p.slow):
		return p.Reader.Read(b)
	case <-p.closed:
		return 0, http.ErrBodyReadAfterClose
	}
}

func (p *pieces) Close() error { close(p.closed); return nil }

func TestPeek(t *testing.T) {
	t.Parallel()
	const says = `{"error": {"message": "try again in 7s`
	long := says + strings.Repeat("x", 8<<10)
	for name, c := range map[string]struct {
		status int
		header string
		body   io.Reader
		slow   time.Duration
		pause  time.Duration
		took   time.Duration
		err    error
	}{
		"short":                 {429, "", strings.NewReader(says + `."}}`), 0, 7 * time.Second, 0, nil},
		"text":                  {429, "", strings.NewReader("slow down, try again in 7s"), 0, 7 * time.Second, 0, nil},
		"long":                  {429, "", strings.NewReader(says + `."}, "x": "` + long), 0, 7 * time.Second, 0, nil},
		"byte by byte":          {429, "", iotest.OneByteReader(strings.NewReader(says + `."}}`)), 0, 7 * time.Second, 0, nil},
		"fails":                 {429, "", io.MultiReader(strings.NewReader(says+`."}`), iotest.ErrReader(io.ErrUnexpectedEOF)), 0, 7 * time.Second, 0, io.ErrUnexpectedEOF},
		"slow":                  {429, "", strings.NewReader(says + `."}}`), time.Second, 0, 20 * time.Millisecond, nil},
		"compressed":            {429, "gzip", strings.NewReader(says + `."}}`), time.Second, 0, 0, nil},
		"403":                   {403, "", strings.NewReader(`{"message": "exceeded a secondary rate limit, try again in 7s"}`), 0, 7 * time.Second, 0, nil},
		"403, another matter":   {403, "", strings.NewReader(says + `."}}`), 0, 0, 0, nil},
		"418":                   {418, "", strings.NewReader(`{"code": "too_many_requests", "retry_after": 7}`), 0, 7 * time.Second, 0, nil},
		"529, another matter":   {529, "", strings.NewReader(`{"type": "overloaded_error", "retry_after": 7}`), 0, 0, 0, nil},
		"no refusal":            {500, "", strings.NewReader(says + `."}}`), time.Second, 0, 0, nil},
		"beyond the longest":    {429, "", strings.NewReader(`{"retry_after": 1e400, "retryDelay": "499999999s"}`), 0, upstream.MaxPause, 0, nil},
		"a moment":              {429, "", strings.NewReader(`{"retry_after": 1655120993, "retryAfter": 1655120993000}`), 0, 0, 0, nil},
		"negative or no number": {429, "", strings.NewReader(`{"retry_after": -5, "retryDelay": "soon", "message": "try again in -5s"}`), 0, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				whole := new(strings.Builder)
				resp := response(c.status)
				if c.header != "" {
					resp.Header.Set("Content-Encoding", c.header)
				}
				body := &pieces{io.TeeReader(c.body, whole), c.slow, make(chan struct{})}
				resp.Body = body
				r := &upstream.Reader{Bodies: true}
				start := time.Now()
				r.Read(resp, date)
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if s := r.Read(resp, date); s.Pause != c.pause {
					t.Errorf("pause %v, want %v", s.Pause, c.pause)
				}
				got, err := io.ReadAll(resp.Body)
				if string(got) != whole.String() || len(got) == 0 || !errors.Is(err, c.err) {
					t.Errorf("the body is now %d bytes, %v; want %d", len(got), err, whole.Len())
				}
				_ = resp.Body.Close()
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a closed body can be read")
				}
			})
		})
	}
}

// TestBodyWaits reads waits that only a body says.
func TestBodyWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want time.Duration
	}{
		"Matrix: milliseconds":             {`{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2000}`, 2 * time.Second},
		"Kubernetes: camel case, seconds":  {`{"details": {"retryAfterSeconds": 3}}`, 3 * time.Second},
		"Monday: in":                       {`{"errors": [{"extensions": {"retry_in_seconds": 20}}]}`, 20 * time.Second},
		"Infura: a pause":                  {`{"error": {"data": {"rate": {"backoff_seconds": 24}}}}`, 24 * time.Second},
		"Zscaler: a number and a word":     {`{"Retry-After": "47 seconds"}`, 47 * time.Second},
		"milliseconds by a word":           {`{"retryAfter": "250 ms"}`, 250 * time.Millisecond},
		"a number in a string":             {`{"retryAfter": "5"}`, 5 * time.Second},
		"another unit":                     {`{"retry_after_weeks": 5}`, 0},
		"another field":                    {`{"retry": 5, "retry_count": 5}`, 0},
		"the longest":                      {`{"retry_after": 5, "retryDelay": "7.5s", "retry_in": 6}`, 7500 * time.Millisecond},
		"Django REST framework":            {`{"detail": "Request was throttled. Expected available in 37 seconds."}`, 37 * time.Second},
		"Stack Exchange":                   {`{"error_message": "too many requests, more requests available in 120 seconds"}`, 2 * time.Minute},
		"Replicate: about":                 {`{"detail": "Request was throttled. Your rate limit resets in ~30s."}`, 30 * time.Second},
		"a short word":                     {`{"errorMessage": "Please wait 2 min."}`, 2 * time.Minute},
		"a point first":                    {`{"message": "Please wait .5 seconds"}`, 0},
		"Akamai: the time of a submission": {`{"rateLimitNext": "2022-06-13T11:49:42Z", "detail": "Quota has been exhausted. You can submit the request after 49 seconds"}`, 49 * time.Second},
		"a page's tag":                     {`<p>Please try again in 5 minutes.</p>`, 5 * time.Minute},
		"ASP.NET Core: one or several":     {`Too many requests. Please try again after 9 second(s).`, 9 * time.Second},
		"a list of sentences":              {`{"errors": ["Daily limit", "Try again in 2 minutes"]}`, 2 * time.Minute},
		"an ISO 8601 duration":             {`{"retryAfter": "PT30S"}`, 30 * time.Second},
		"an echo of the request":           {`{"error": "busy", "prompt": "Please wait 5 minutes."}`, 0},
		"a moment":                         {`{"retryAfter": "2022-06-13T11:49:23Z"}`, 0},
		"a moment in a sentence":           {`{"message": "Retry after 2022-06-13T11:49:23.5Z."}`, 30500 * time.Millisecond},
		"a moment in quotes, of a zone":    {`Please try again after '2022-06-13T13:49:23+02:00'`, 30 * time.Second},
		"crates.io: a date in a sentence":  {`{"detail": "Please try again after Mon, 13 Jun 2022 11:49:23 GMT and see x."}`, 30 * time.Second},
		"a date at the end":                {`Retry after Monday, 13-Jun-22 11:49:23 GMT.`, 30 * time.Second},
		"Let's Encrypt: a moment, a colon": {`{"detail": "too many new orders (300) in the last 3h0m0s, retry after 2022-06-13 11:49:23 UTC: see https://letsencrypt.org"}`, 30 * time.Second},
		"a moment of a zone, and a comma":  {`{"message": "Retry after 2022-06-13 13:49:23 +0200, please"}`, 30 * time.Second},
		"WSO2: a month's name":             {`{"nextAccessTime": "2022-Jun-13 11:50:00+0000 UTC", "description": "You have exceeded your quota .You can access API after 2022-Jun-13 11:50:00+0000 UTC"}`, 67 * time.Second},
		"until a moment":                   {`{"message": "You are rate limited until 2022-06-13T11:49:23.000Z"}`, 30 * time.Second},
		"GitHub's registry: a short time":  {`{"errors": [{"code": "TOOMANYREQUESTS", "message": "retry-after: 1.16676ms, allowed: 44000/minute"}]}`, 1166760},
		"Stability AI: timed out":          {`{"errors": ["You have exceeded the rate limit of 150 requests within a 10 second period, and have been timed out for 60 seconds."]}`, time.Minute},
		"a moment that has passed":         {`{"message": "Retry after 2022-06-13T11:48:23Z"}`, 0},
		"a moment in ten years":            {`{"message": "Retry after 2032-06-13T11:48:23Z"}`, upstream.MaxPause},
		"a day without a time":             {`{"message": "Retry after 2022-06-14"}`, 0},
		"no number":                        {`{"message": "Please wait a few minutes, or try again in a day."}`, 0},
		"no unit":                          {`{"message": "Please wait 5"}`, 0},
		"a second text":                    {`{"retry_after": 5} {"retry_after": 9}`, 5 * time.Second},
		"a string alone":                   {`"retry in 4s"`, 4 * time.Second},
		"a list":                           {`[{"retry_after": 5}, "retry in 4s"]`, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // A busy machine would let the time for a body pass.
				resp := response(429)
				resp.Body = io.NopCloser(strings.NewReader(c.body))
				r := &upstream.Reader{Bodies: true}
				if s := r.Read(resp, date); s.Pause != c.want {
					t.Errorf("got %v, want %v", s.Pause, c.want)
				}
			})
		})
	}
}

// TestPeekKeepsNothingBack: the caller gets the bytes that have arrived, while later ones are on their way.
func TestPeekKeepsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resp, start := response(429), time.Now()
		const begin = `{"retry_after": 7, "more": [`
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(begin), &pieces{strings.NewReader("1]}"), time.Hour, nil}), io.NopCloser(nil)}
		if s := (&upstream.Reader{Bodies: true}).Read(resp, date); s.Pause != 7*time.Second {
			t.Errorf("a pause of %v by the part that has arrived", s.Pause)
		}
		if err := iotest.TestReader(io.LimitReader(resp.Body, int64(len(begin))), []byte(begin)); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("the beginning came after %v", took)
		}
		if rest, err := io.ReadAll(resp.Body); string(rest) != "1]}" || err != nil {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

// TestPeekEnds: closing the body ends reading ahead, and a panic is an error.
func TestPeekEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &upstream.Reader{Bodies: true}
		resp := response(429)
		resp.Body = &pieces{strings.NewReader("x"), time.Hour, make(chan struct{})}
		r.Read(resp, date)
		_ = resp.Body.Close()
		resp.Body = &pieces{nil, 0, make(chan struct{})}
		r.Read(resp, date)
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("a panic is no error")
		}
	})
}

// TestBodyFromACache: nothing reads ahead in a body of the past.
func TestBodyFromACache(t *testing.T) {
	t.Parallel()
	resp := response(429, "Age", "5")
	body := io.NopCloser(strings.NewReader("try again in 7s"))
	resp.Body = body
	if s := (&upstream.Reader{Bodies: true}).Read(resp, date); s.Refused || resp.Body != body {
		t.Errorf("got %+v, and another body", s)
	}
}

func FuzzPeek(f *testing.F) {
	f.Add(`{"error":{"message":"try again in 1.2s","type":"tokens","code":"insufficient_quota"}}`)
	f.Add(`{"a":[{"retryDelay":"13.5s"},{"retry_after":64.57}],"global":true,"quotaId":"x"`)
	f.Add(`[{"retry_after_ms":5,"Retry-After":"47 seconds","reason":"userRateLimitExceeded"}] {"code":"x"}`)
	f.Add(`please retry after 26 seconds. try again in 1d2h`)
	f.Fuzz(func(t *testing.T, text string) {
		r := &upstream.Reader{Bodies: true}
		resp := response(429)
		resp.Body = io.NopCloser(strings.NewReader(text))
		possible(t, r, resp)
		if got, err := io.ReadAll(resp.Body); string(got) != text || err != nil {
			t.Errorf("the body is now %q, %v", got, err)
		}
	})
}
