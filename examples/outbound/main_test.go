package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOutput(t *testing.T) {
	got := string(captured(t, []string{"outbound"}))
	// Times depend on the machine, so they are cut out.
	got = regexp.MustCompile(`\d+(\.\d+)?m?s(:|\n)`).ReplaceAllString(got, "…$2")
	want := `Calls wait for their slots:
  after …: the API answers 200 OK
  after …: the API answers 200 OK
  after …: the API answers 200 OK
  after …: the API answers 200 OK
A call that is not to wait:
  after …: not sent; 2-in-1s admits it in …
A call whose slot lies past its timeout:
  after …: not sent; 2-in-1s admits it in …
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// captured returns main's output with these arguments.
func captured(t *testing.T, args []string) []byte {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, osArgs := os.Stdout, os.Args
	defer func() { os.Stdout, os.Args = stdout, osArgs }()
	os.Stdout, os.Args = w, args
	var out bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&out, r)
		read <- err
	}()
	main()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	return out.Bytes()
}
