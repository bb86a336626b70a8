//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startUp is the maximum time from a start of redis-server to its first answer.
const startUp = 5 * time.Second

// child is our redis-server process.
type child struct {
	path, at string
	dir      string // temporary; holds its log, and its data in a directory
	cmd      *exec.Cmd
	ended    chan struct{} // closed after cmd.Wait
	leash    *leash
}

// startReal starts the redis-server at a path, or the one on PATH.
func startReal(path string) (redisServer, error) {
	flag := "-redis-server"
	if path == "" {
		path, flag = "redis-server", "-real"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	c := &child{path: found}
	if c.path, err = filepath.Abs(found); err != nil { // redis-server runs in another directory
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if c.at, err = freeAddr(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", "outage-"); err != nil {
		return nil, err
	}
	if err := c.restart(false); err != nil {
		c.close()
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return c, nil
}

func (c *child) describe() string { return c.path + ", at " + c.at }

func (c *child) addr() string { return c.at }

func (c *child) restart(keep bool) error {
	data := filepath.Join(c.dir, "data")
	if !keep {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	host, port, err := net.SplitHostPort(c.at)
	if err != nil {
		return err
	}
	// Appended data survives the process without a sync.
	cmd := exec.Command(c.path, "--bind", host, "--port", port, "--dir", data, "--daemonize", "no",
		"--save", "", "--appendonly", "yes", "--appendfsync", "no")
	cmd.Stdout, cmd.Stderr = log, log
	// It has a group of its own, so that Ctrl-C in a terminal does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.ended = cmd, make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // the log has the reason
	}()
	if c.leash, err = tie(cmd.Process.Pid); err != nil {
		return err
	}
	return c.await()
}

// await returns when the server answers.
func (c *child) await() error {
	patience := time.After(startUp)
	for {
		err := ping(c.at)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
			continue
		case <-c.ended:
			err = errors.New("it has ended")
		case <-patience:
		}
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		return fmt.Errorf("%s did not start: %w; the last it said: %q", c.path, err, lines[len(lines)-1])
	}
}

// ping asks the server at an address whether it serves commands.
func ping(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 100)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(string(answer[:n])); text != "+PONG" {
		return errors.New(text)
	}
	return nil
}

func (c *child) hang() error { return c.cmd.Process.Signal(syscall.SIGSTOP) }

func (c *child) wake() error { return c.cmd.Process.Signal(syscall.SIGCONT) }

// kill ends the process, running or stopped, and returns when it is gone. The leash comes
// off before another process can get the process ID.
func (c *child) kill() error {
	if c.cmd == nil {
		return nil
	}
	c.leash.untie()
	_ = c.cmd.Process.Kill() // the only error is that of an ended process
	<-c.ended
	c.cmd, c.leash = nil, nil
	return nil
}

func (c *child) close() {
	_ = c.kill()
	_ = os.RemoveAll(c.dir)
}
