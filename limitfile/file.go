package limitfile

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// DefaultInterval is how often a file is read when Config.Interval is 0.
const DefaultInterval = time.Second

// shortestInterval keeps a wrong unit from reading without a pause.
const shortestInterval = 10 * time.Millisecond

// Config is what [Open] watches.
type Config struct {
	// Path is where the file is: JSON when it ends in .json, otherwise YAML.
	// Required. It may lead over symbolic links, which are followed each time.
	Path string
	// Interval is how often the file is read. A new content holds when it was
	// found twice in a row, so between one and two intervals after it was
	// written: a file that somebody is still writing is not taken by halves.
	// 10 ms or more. 0: DefaultInterval. Below 0: the file is read by Open and
	// Reload alone.
	Interval time.Duration
	// Fallback holds from the start until the file can be read and is right,
	// usually one made by [Parse] of a content that is part of the program. Nil:
	// Open fails when the file is missing or wrong.
	Fallback *Set
	// OnChange is called when a new set holds. Nil: nothing is.
	OnChange func()
	// OnError is told when the file is missing or wrong, once for each content
	// it has in that time. OnChange and OnError must be quick, as the file is
	// not read meanwhile, and may be called at the same time when Reload is
	// used. They may call every method. Nil: nobody is told.
	OnError func(err error)
	// Logger is told of both. Nil: slog.Default().
	Logger *slog.Logger
}

// File is a limits file that is watched. It is safe for concurrent use.
type File struct {
	cfg  Config
	set  atomic.Pointer[Set]
	stop chan struct{}

	mu       sync.Mutex  // held while the file is read, and stop is closed
	seen     fingerprint // of what was last taken or refused
	proposed fingerprint // of something else that was found once
	err      error       // what was wrong with what was seen
}

// Open reads a limits file and watches it until Close. It fails when the file
// is missing or wrong, unless there is a Fallback.
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
	cfg.Path = path
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	f := &File{cfg: cfg, stop: make(chan struct{})}
	f.set.Store(cfg.Fallback)
	content, err := read(path)
	f.take(content, err)
	if f.err != nil && cfg.Fallback == nil {
		return nil, f.err
	}
	if f.err != nil {
		f.tell(f.err)
	}
	if cfg.Interval > 0 {
		go f.watch()
	}
	return f, nil
}

// Close ends the watching; the last set goes on to hold. It waits for a reading of
// the file, and not for a callback that is running. Closing again does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed() {
		close(f.stop)
	}
	return nil
}

// Set returns the set that holds now: what several of its methods return
// belongs together. It never changes.
func (f *File) Set() *Set { return f.set.Load() }

// Plan returns the limits of a plan, as [Set.Plan] does for the set that holds
// now.
func (f *File) Plan(name string) (limits []weir.Limit, ok bool) { return f.Set().Plan(name) }

// For returns the limits of a key, as [Set.For] does for the set that holds
// now. It takes no lock and allocates nothing.
func (f *File) For(key, plan string) []weir.Limit { return f.Set().For(key, plan) }

// Err returns what is wrong with the file as it was last taken up: nil when
// what holds is what it says.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Reload reads the file now, as on a SIGHUP, and returns what is wrong with it;
// then the last good set goes on to hold. The new set holds when Reload returns
// nil: whoever calls it says that the file is complete. After Close it returns
// [os.ErrClosed].
func (f *File) Reload() error {
	f.mu.Lock()
	if f.closed() {
		f.mu.Unlock()
		return fmt.Errorf("limitfile: %w", os.ErrClosed)
	}
	content, err := read(f.cfg.Path)
	changed := f.take(content, err)
	err = f.err
	f.mu.Unlock()
	if changed {
		f.tell(err)
	}
	return err
}

func (f *File) watch() {
	ticker := time.NewTicker(f.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-ticker.C:
			if changed, err := f.poll(); changed && !f.closed() {
				f.tell(err)
			}
		}
	}
}

// poll reads the file and takes what it found when that is new and was found
// the last time too.
func (f *File) poll() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed() { // The instant of Close may be that of a reading.
		return false, nil
	}
	content, err := read(f.cfg.Path)
	found := fingerprintOf(content, err)
	if found != f.seen && found != f.proposed {
		f.proposed = found
		return false, nil
	}
	changed = f.take(content, err)
	return changed, f.err
}

// take makes what was read hold if it is right, and reports whether it is
// another thing than the last time.
func (f *File) take(content []byte, err error) (changed bool) {
	found := fingerprintOf(content, err)
	f.proposed = found
	if found == f.seen {
		return false
	}
	f.seen = found
	var set *Set
	if err == nil {
		set, err = Parse(f.cfg.Path, content)
	}
	if f.err = err; err == nil {
		f.set.Store(set)
	}
	return true
}

// tell tells of what was taken, or of why not.
func (f *File) tell(err error) {
	if err != nil {
		f.cfg.Logger.Error("limitfile: the file is not taken up, the last good limits hold", "file", f.cfg.Path, "error", err)
		if f.cfg.OnError != nil {
			f.cfg.OnError(err)
		}
		return
	}
	f.cfg.Logger.Info("limitfile: new limits hold", "file", f.cfg.Path)
	if f.cfg.OnChange != nil {
		f.cfg.OnChange()
	}
}

// closed is told for certain where mu is held.
func (f *File) closed() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}
