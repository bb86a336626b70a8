package redistest

import (
	"bufio"
	"maps"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in, want, err string
	}{
		{"status", "+OK\r\n", "OK", ""},
		{"integer", ":-7\r\n", "-7", ""},
		{"bulk", "$4\r\na\r\nb\r\n", "a\r\nb", ""},
		{"empty bulk", "$0\r\n\r\n", "", ""},
		{"null bulk", "$-1\r\n", "", ""},
		{"array", "*2\r\n$1\r\na\r\n:1\r\n", "a\n1", ""},
		{"nested arrays", "*2\r\n*2\r\n+a\r\n+b\r\n*1\r\n+c\r\n", "a\nb\nc", ""},
		{"empty array", "*0\r\n", "", ""},
		{"null array", "*-1\r\n", "", ""},
		{"error", "-ERR unknown command\r\n", "", "ERR unknown command"},
		{"error in an array", "*2\r\n+a\r\n-ERR no\r\n", "", "ERR no"},
		{"cut in the line", "$4", "", "EOF"},
		{"cut in the bulk", "$4\r\nab", "", "unexpected EOF"},
		{"a length that is none", "$x\r\n", "", "invalid syntax"},
		{"a count that is none", "*x\r\n", "", "invalid syntax"},
		{"nothing in the line", "\r\n", "", "empty line"},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n", "", "not a reply"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readReply(bufio.NewReader(strings.NewReader(tc.in)))
			if tc.err == "" && (err != nil || got != tc.want) {
				t.Errorf("readReply = %q, %v; want %q", got, err, tc.want)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("readReply = %q, %v; want an error with %q", got, err, tc.err)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	got := fields("# Server\r\nredis_version:7.0.15\r\nexecutable:/a:b\r\n\r\nempty:\r\n")
	want := map[string]string{"redis_version": "7.0.15", "executable": "/a:b", "empty": ""}
	if !maps.Equal(got, want) {
		t.Errorf("fields = %v, want %v", got, want)
	}
}
