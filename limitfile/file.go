package limitfile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

const (
	defaultInterval = time.Second
	// shortestInterval keeps a wrong unit from reading without a pause.
	shortestInterval = 10 * time.Millisecond
)

// Config configures [Open].
type Config struct {
	// Path is the path of the file. Required. Symbolic links are followed each time.
	Path string
	// Interval is the interval of reading the file. New content holds once it was
	// found twice in a row, so between one and two intervals after it was written: a
	// file that is still being written does not hold by halves. At least 10 ms. 0:
	// 1 s. Negative: only Open and Reload read the file.
	Interval time.Duration
	// Fallback holds from the start until the file is right: usually a set that
	// [Parse] made from a text of the program. Nil: Open fails if the file is missing
	// or wrong.
	Fallback *Set
	// Logger logs each change, and the error if the file is missing or wrong, once for
	// each content. Nil: slog.Default().
	Logger *slog.Logger
}

// File is a limits file that is watched. It is safe for concurrent use.
type File struct {
	cfg   Config
	path  string // absolute, as the process may change its folder
	set   atomic.Pointer[Set]
	open  context.Context // until Close
	close context.CancelFunc

	mu       sync.Mutex // held while the file is read, and closed
	seen     string     // the content that counts, right or wrong, or the error of reading
	proposed string     // the last content that was found
	err      error      // in the content of seen
}

// Open reads a limits file and watches it until Close. It fails if the file is
// missing or wrong, unless there is a Fallback.
func Open(cfg Config) (*File, error) {
	switch {
	case cfg.Path == "":
		return nil, &weir.ConfigError{Field: "limitfile.Config.Path", Want: "a path", Got: "none"}
	case cfg.Interval > 0 && cfg.Interval < shortestInterval:
		return nil, &weir.ConfigError{Field: "limitfile.Config.Interval", Want: "10ms or more", Got: cfg.Interval.String()}
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("limitfile: %w", err)
	}
	cfg.Interval = cmp.Or(cfg.Interval, defaultInterval)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	f := &File{cfg: cfg, path: path}
	f.open, f.close = context.WithCancel(context.Background())
	f.set.Store(cfg.Fallback)
	if _, err := f.read(true); err != nil {
		if cfg.Fallback == nil {
			return nil, err
		}
		f.tell(err)
	}
	if cfg.Interval > 0 {
		go f.watch()
	}
	return f, nil
}

// Close ends the watching; the last set still holds. It waits for a reading of the
// file. A second Close does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.close != nil {
		f.close()
	}
	return nil
}

// Set returns the set that holds now. It never changes, so the results of its methods
// belong together. The set of a zero File has no limits.
func (f *File) Set() *Set { return cmp.Or(f.set.Load(), &noLimits) }

var noLimits Set

// For returns the limits of a key, as [Set.For] does for the set that holds
// now. It takes no lock and allocates nothing.
func (f *File) For(key, plan string) []weir.Limit { return f.Set().For(key, plan) }

// Err returns the error of the last reading. Nil: the limits are those of the file.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Reload reads the file now, as on a SIGHUP. It trusts that the file is complete: a
// new set holds when Reload returns nil. Otherwise the last good set still holds.
// After Close it returns [os.ErrClosed].
func (f *File) Reload() error {
	changed, err := f.read(true)
	if changed {
		f.tell(err)
	}
	return err
}

func (f *File) watch() {
	tick := time.Tick(f.cfg.Interval)
	for {
		select {
		case <-f.open.Done():
			return
		case <-tick:
			if changed, err := f.read(false); changed && f.open.Err() == nil {
				f.tell(err)
			}
		}
	}
}

// read reads the file, and makes its content hold if it is right. changed reports whether
// the content is new. New content that may be incomplete counts once it was found twice.
func (f *File) read(complete bool) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil || f.open.Err() != nil {
		return false, fmt.Errorf("limitfile: %w", os.ErrClosed)
	}
	content, err := contentOf(f.path)
	found, before := "content "+string(content), f.proposed
	if err != nil {
		err = fmt.Errorf("limitfile: %w", err)
		found = "error " + err.Error()
	}
	if f.proposed = found; found == f.seen || !complete && found != before {
		return false, f.err
	}
	f.seen = found
	var set *Set
	if err == nil {
		set, err = Parse(f.cfg.Path, content)
	}
	if f.err = err; err == nil {
		f.set.Store(set)
	}
	return true, err
}

// tell logs new content, or the error in it.
func (f *File) tell(err error) {
	if err != nil {
		f.cfg.Logger.Error("limitfile: the file is not taken up, the last good limits hold", "file", f.cfg.Path, "error", err)
	} else {
		f.cfg.Logger.Info("limitfile: new limits hold", "file", f.cfg.Path)
	}
}

// contentOf returns a file's content, and maxSize+1 bytes of a longer file.
func contentOf(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // Opening a pipe would wait for a writer.
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("not a regular file: %w", fs.ErrInvalid)}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}
