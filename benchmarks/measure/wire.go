package measure

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/goweir/weir/benchmarks/delay"
)

// wireEnv makes a process of this program the network of another one. The two must not
// share a scheduler and a heap.
const wireEnv = "WEIR_BENCHMARKS_WIRE"

// wire is a network before some servers.
type wire struct {
	Targets []string
	Delay   time.Duration
	Jitter  float64
	TLS     bool
}

// wire starts a process with a proxy for each target, and returns their addresses.
func (s *scope) wire(w wire) []string {
	text, err := json.Marshal(w)
	if err != nil {
		s.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), wireEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatalf("the network: %v", err)
	}
	return strings.Fields(line)
}

// serveWire starts the proxies, prints their addresses, and ends with its input.
func serveWire(text string) error {
	var w wire
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	config := delay.Config{Delay: w.Delay, Jitter: w.Jitter}
	if w.TLS {
		certificate, err := selfSigned()
		if err != nil {
			return err
		}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	var addrs []string
	for _, config.Target = range w.Targets {
		p, err := delay.Listen(config)
		if err != nil {
			return err
		}
		defer p.Close()
		addrs = append(addrs, p.Addr)
	}
	fmt.Println(strings.Join(addrs, " "))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// selfSigned returns a new certificate.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
