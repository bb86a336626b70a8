package upstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/upstream"
)

const (
	year  = 366 * 24 * time.Hour // the longest time that is believed
	ms    = time.Millisecond
	sec   = time.Second
	cap15 = 15 * time.Minute
)

// TestPause lists the sources of a pause, and nonsense.
func TestPause(t *testing.T) {
	t.Parallel()
	left := []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "30"}
	none := []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"}
	with := func(more []string, pairs ...string) []string { return append(append([]string(nil), more...), pairs...) }
	for name, c := range map[string]struct {
		status  int
		headers []string
		refused bool
		pause   time.Duration
	}{
		"seconds":                               {429, []string{"Retry-After", "5"}, true, 5 * sec},
		"seconds with a zero fraction":          {429, []string{"Retry-After", "2.0"}, true, 2 * sec},
		"half a second":                         {429, []string{"Retry-After", "0.5"}, true, 500 * ms},
		"more digits than a nanosecond has":     {429, []string{"Retry-After", "0.0000000001"}, true, 1},
		"spaces around":                         {429, []string{"Retry-After", " 5 "}, true, 5 * sec},
		"milliseconds come before seconds":      {429, []string{"Retry-After", "2", "Retry-After-Ms", "1480"}, true, 1480 * ms},
		"milliseconds, Azure's":                 {429, []string{"Retry-After", "2", "X-Ms-Retry-After-Ms", "1480"}, true, 1480 * ms},
		"milliseconds, another's":               {429, []string{"X-Retry-After-Ms", "10"}, true, 10 * ms},
		"milliseconds, Amazon's":                {429, []string{"X-Amz-Retry-After", "250"}, true, 250 * ms},
		"minutes":                               {429, []string{"Retry-After-Minutes", "2"}, true, 2 * time.Minute},
		"NestJS: of a throttler":                {429, []string{"Retry-After-short", "12"}, true, 12 * sec},
		"NestJS: of several":                    {429, []string{"Retry-After-short", "12", "Retry-After-long", "60"}, true, 60 * sec},
		"the standard before one of a budget":   {429, []string{"Retry-After-short", "12", "Retry-After", "3"}, true, 3 * sec},
		"a word of a budget":                    {429, []string{"Retry-After-short", "soon"}, true, 0},
		"bad milliseconds leave the seconds":    {429, []string{"Retry-After", "2", "Retry-After-Ms", "x"}, true, 2 * sec},
		"no milliseconds leave the seconds":     {429, []string{"Retry-After", "2", "Retry-After-Ms", "0"}, true, 2 * sec},
		"an X- name":                            {429, []string{"X-Retry-After", "3"}, true, 3 * sec},
		"Smartlook: a joined name":              {429, []string{"X-RetryAfter", "3"}, true, 3 * sec},
		"a joined name, in milliseconds":        {429, []string{"X-RetryAfter-Ms", "1500"}, true, 1500 * ms},
		"a joined name beside it: the longer":   {429, []string{"RetryAfter", "3", "Retry-After", "2"}, true, 3 * sec},
		"the standard before an X- name":        {429, []string{"X-Retry-After", "3", "Retry-After", "2"}, true, 2 * sec},
		"sent twice: the longer":                {429, []string{"Retry-After", "3", "Retry-After", "20"}, true, 20 * sec},
		"sent twice: the longer, if first":      {429, []string{"Retry-After", "20", "Retry-After", "3"}, true, 20 * sec},
		"joined by a proxy":                     {429, []string{"Retry-After", "120, 120"}, true, 120 * sec},
		"three, joined":                         {429, []string{"Retry-After", "120,120 ,120"}, true, 120 * sec},
		"dates, joined":                         {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT, Mon, 13 Jun 2022 11:49:23 GMT"}, true, 30 * sec},
		"joined, on several lines":              {429, []string{"Retry-After", "20, 20", "Retry-After", "30, 30"}, true, 30 * sec},
		"joined, milliseconds":                  {429, []string{"Retry-After-Ms", "1480, 1480"}, true, 1480 * ms},
		"joined, but different":                 {429, []string{"Retry-After", "30, 120"}, true, 120 * sec},
		"joined, the longer first":              {429, []string{"Retry-After", "5, 2"}, true, 5 * sec},
		"joined, but different milliseconds":    {429, []string{"Retry-After-Ms", "100, 300"}, true, 300 * ms},
		"joined, a number and a date":           {429, []string{"Retry-After", "5, Mon, 13 Jun 2022 11:49:23 GMT"}, true, 30 * sec},
		"joined, a date and a number":           {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT, 60"}, true, 60 * sec},
		"joined with rubbish":                   {429, []string{"Retry-After", "soon, 5, -1, Mon, later"}, true, 5 * sec},
		"joined, beyond the longest pause":      {429, []string{"Retry-After", "2, 86400"}, true, cap15},
		"joined, but different dates":           {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT, Mon, 13 Jun 2022 11:49:24 GMT"}, true, 31 * sec},
		"joined, but rubbish":                   {429, []string{"Retry-After", "soon, soon"}, true, 0},
		"joined with nothing":                   {429, []string{"Retry-After", "120, "}, true, 120 * sec},
		"nothing, joined":                       {429, []string{"Retry-After", ", "}, true, 0},
		"joined very often":                     {429, []string{"Retry-After", strings.Repeat("5,", 1<<20) + "5"}, true, 0},
		"rounded up to the nanosecond":          {429, []string{"Retry-After-Ms", "0.0000015"}, true, 2},
		"more than 64 bits of nanoseconds":      {429, []string{"Retry-After", "18446744074"}, true, cap15},
		"date, IMF fixdate":                     {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT"}, true, 30 * sec},
		"date, RFC 850":                         {429, []string{"Retry-After", "Monday, 13-Jun-22 11:49:23 GMT"}, true, 30 * sec},
		"date, asctime":                         {429, []string{"Retry-After", "Mon Jun 13 11:49:23 2022"}, true, 30 * sec},
		"date that says UTC":                    {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 UTC"}, true, 30 * sec},
		"date with an offset":                   {429, []string{"Retry-After", "Mon, 13 Jun 2022 13:49:23 +0200"}, true, 30 * sec},
		"date, ISO 8601":                        {429, []string{"Retry-After", "2022-06-13T11:49:23Z"}, true, 30 * sec},
		"date in the past":                      {429, []string{"Retry-After", "Mon, 13 Jun 2022 11:48:23 GMT"}, true, 0},
		"date at the start of the epoch":        {429, []string{"Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT"}, true, 0},
		"date, without its weekday":             {429, []string{"Retry-After", "13 Jun 2022 11:49:23 GMT"}, true, 30 * sec},
		"an ISO 8601 duration":                  {429, []string{"Retry-After", "PT30S"}, true, 30 * sec},
		"date in the year 9999":                 {429, []string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, true, cap15},
		"an epoch of this day":                  {429, []string{"Retry-After", "1655120943"}, true, 10 * sec},
		"a duration as Go writes it":            {429, []string{"Retry-After", "1m30s"}, true, 90 * sec},
		"over the cap":                          {429, []string{"Retry-After", "901"}, true, cap15},
		"nine nines":                            {429, []string{"Retry-After", "999999999"}, true, cap15},
		"more than an integer holds":            {429, []string{"Retry-After", "99999999999999999999"}, true, cap15},
		"a thousand digits":                     {429, []string{"Retry-After", strings.Repeat("9", 1000)}, true, 0},
		"minus one":                             {429, []string{"Retry-After", "-1"}, true, 0},
		"plus one":                              {429, []string{"Retry-After", "+1"}, true, 0},
		"an exponent":                           {429, []string{"Retry-After", "1e400"}, true, 0},
		"NaN":                                   {429, []string{"Retry-After", "NaN"}, true, 0},
		"Inf":                                   {429, []string{"Retry-After", "Inf"}, true, 0},
		"hexadecimal":                           {429, []string{"Retry-After", "0x10"}, true, 0},
		"a point without digits":                {429, []string{"Retry-After", "5."}, true, 0},
		"empty":                                 {429, []string{"Retry-After", ""}, true, 0},
		"a reason is no time":                   {429, []string{"X-Retry-After-Reason", "5"}, true, 0},
		"a negative duration":                   {429, []string{"Retry-After", "-5s"}, true, 0},
		"refused, the reset of an empty budget": {429, none, true, 30 * sec},
		"refused, with units left":              {429, left, true, 0},
		"refused, a reset and no count":         {429, []string{"X-RateLimit-Reset", "7"}, true, 7 * sec},
		"refused, zero Retry-After: the reset":  {429, with(none, "Retry-After", "0"), true, 30 * sec},
		"refused, Retry-After before the reset": {429, with(none, "Retry-After", "3"), true, 3 * sec},
		"refused, the latest of two used up": {429, []string{
			"X-RateLimit-Remaining-A", "0", "X-RateLimit-Reset-A", "3", "X-RateLimit-Remaining-B", "0", "X-RateLimit-Reset-B", "9"}, true, 9 * sec},
		"refused, a reset of its own before the family's": {429, []string{
			"X-RateLimit-Remaining-A", "0", "X-RateLimit-Reset-A", "3", "X-RateLimit-Reset", "100"}, true, 3 * sec},
		"refused, a reset that needs no clock before one that does": {429, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "3", "X-RateLimit-Reset-Time", "1655120999"}, true, 3 * sec},
		"success, the latest of two used up": {200, []string{
			"X-RateLimit-Remaining-A", "0", "X-RateLimit-Reset-A", "3", "X-RateLimit-Remaining-B", "0", "X-RateLimit-Reset-B", "9"}, false, 9 * sec},
		"success with units left": {200, left, false, 0},
		"success with a limit of 0": {200, []string{
			"X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"}, false, 0},
		"success with a limit of 0, draft 11": {200, []string{
			"RateLimit-Policy", `"a";q=0;w=3600`, "RateLimit", `"a";r=0;t=3600`}, false, 0},
		"success with a limit of 0, draft 07": {200, []string{"RateLimit", "limit=0, remaining=0, reset=3600"}, false, 0},
		"refused, with a limit of 0": {429, []string{
			"X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"}, true, 30 * sec},
		"403 with a limit of 0": {403, []string{
			"X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"}, false, 0},
		"success, a reset and no count":        {200, []string{"X-RateLimit-Reset", "7"}, false, 0},
		"success with Retry-After, units left": {200, with(left, "Retry-After", "3"), false, 0},
		"success with Retry-After alone":       {200, []string{"Retry-After", "3"}, false, 0},
		"success with Retry-After, none left":  {200, with(none, "Retry-After", "3"), false, 3 * sec},
		"accepted: when to ask for the result": {202, with(none, "Retry-After", "3"), false, 30 * sec},
		"redirect: when to follow it":          {303, []string{"Retry-After", "3"}, false, 0},
		"503 says that it is away":             {503, nil, false, 0},
		"503 that says for how long":           {503, []string{"Retry-After", "3"}, true, 3 * sec},
		"503 with nothing left":                {503, none, true, 30 * sec},
		"503 with units left":                  {503, left, false, 0},
		"503 with rubbish":                     {503, []string{"Retry-After", "soon"}, false, 0},
		"403 with nothing left, no reset":      {403, []string{"X-RateLimit-Remaining", "0"}, true, 0},
		"403 with zero Retry-After":            {403, with(left, "Retry-After", "0"), false, 0},
		"403 with nothing left, long renewed":  {403, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120000"}, false, 0},
		"418 is a teapot":                      {418, nil, false, 0},
		"420":                                  {420, []string{"Retry-After", "3"}, true, 3 * sec},
		"599, in no standard":                  {599, []string{"Retry-After", "3"}, true, 3 * sec},
		"509 alone":                            {509, nil, false, 0},
		"430 with Retry-After":                 {430, []string{"Retry-After", "3"}, false, 0},
		"501 with Retry-After":                 {501, []string{"Retry-After", "3"}, false, 0},
		"511 with Retry-After":                 {511, []string{"Retry-After", "3"}, false, 0},
		"500 with Retry-After":                 {500, []string{"Retry-After", "3"}, false, 0},
		"400 with nothing left":                {400, none, false, 30 * sec},
		"renewed already":                      {200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120000"}, false, 0},
		"remaining less than one":              {200, []string{"X-RateLimit-Remaining", "0.4", "X-RateLimit-Reset", "2"}, false, 2 * sec},
		"remaining minus one means no limit":   {200, []string{"X-RateLimit-Remaining", "-1", "X-RateLimit-Reset", "2"}, false, 0},
		"reset in the year 9999":               {200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9999-12-31T23:59:59Z"}, false, cap15},
		"reset minus one":                      {200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "-1"}, false, 0},
		"reset NaN":                            {200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "NaN"}, false, 0},
		"reset of twenty nines":                {200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "99999999999999999999"}, false, cap15},
		"cached, from its Age":                 {429, with(none, "Age", "7", "Retry-After", "3"), false, 0},
		"cached twice: the first Age counts":   {200, with(none, "Age", "30, 0"), false, 0},
		"cached, by Ages that were joined":     {200, with(none, "Age", "30, 30"), false, 0},
		"fresh, the first Age counts":          {200, with(none, "Age", "0, 30"), false, 30 * sec},
		"fresh, the first of two lines":        {200, with(none, "Age", "0", "Age", "30"), false, 30 * sec},
		"cached, from httpcache":               {200, with(none, "X-From-Cache", "1"), false, 0},
		"an Age of 0 is fresh":                 {200, with(none, "Age", "0"), false, 30 * sec},
		"a structured field with a mistake":    {429, []string{"RateLimit", `"a";r=0;t=9,`}, true, 0},
		"a structured field with t negative":   {429, []string{"RateLimit", `"a";r=0;t=-9`}, true, 0},
		"a structured field with r negative":   {429, []string{"RateLimit", `"a";r=-1;t=9`}, true, 0},
		"a structured field with r missing":    {429, []string{"RateLimit", `"a";t=9`}, true, 0},
		"a structured field with t a decimal":  {429, []string{"RateLimit", `"a";r=0;t=1.5`}, true, 1500 * ms},
		"a structured field with t too long":   {429, []string{"RateLimit", `"a";r=0;t=9999999999999999`}, true, 0},
		"a structured field over two lines":    {200, []string{"RateLimit", `"a";r=1;t=9`, "RateLimit", `"b";r=0;t=5`}, false, 5 * sec},
		"a structured field, inner lists":      {200, []string{"RateLimit", `("a" "b");r=0;t=5`}, false, 0},
		"a huge structured field":              {200, []string{"RateLimit", `"a";r=0;t=5` + strings.Repeat(" ", 1<<20)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(upstream.Reader).Read(response(c.status, c.headers...), date)
			if got.Refused != c.refused || got.Pause != c.pause {
				t.Errorf("refused %v, pause %v; want %v, %v", got.Refused, got.Pause, c.refused, c.pause)
			}
		})
	}
}

// TestRetryAfter reads Retry-After under any status.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reader  *upstream.Reader
		status  int
		headers []string
		want    time.Duration
	}{
		"an error":             {nil, 500, []string{"Retry-After", "20"}, 20 * sec},
		"a date":               {nil, 500, []string{"Retry-After", "Mon, 13 Jun 2022 11:49:23 GMT"}, 30 * sec},
		"another name":         {nil, 502, []string{"Retry-After-Ms", "20"}, 20 * ms},
		"a redirect":           {nil, 303, []string{"Retry-After", "20"}, 20 * sec},
		"over the cap":         {nil, 500, []string{"Retry-After", "901"}, cap15},
		"over a cap of one's":  {&upstream.Reader{MaxPause: sec}, 500, []string{"Retry-After", "20"}, sec},
		"cached":               {nil, 500, []string{"Retry-After", "20", "Age", "7"}, 0},
		"a budget":             {nil, 500, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20"}, 0},
		"nothing":              {nil, 500, nil, 0},
		"rubbish":              {nil, 500, []string{"Retry-After", "soon"}, 0},
		"a refusal":            {nil, 429, []string{"Retry-After", "20"}, 20 * sec},
		"a reader that is new": {new(upstream.Reader), 429, []string{"Retry-After", "20"}, 20 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.reader.RetryAfter(response(c.status, c.headers...), date); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got := new(upstream.Reader).RetryAfter(nil, date); got != 0 {
		t.Errorf("no response asks for %v", got)
	}
}
