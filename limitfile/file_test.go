package limitfile_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
)

// watched is a watched file in a bubble of synctest, where seconds pass as soon as
// all goroutines wait.
type watched struct {
	*testing.T
	*limitfile.File
	path string

	mu      sync.Mutex // as the bubble's clock orders nothing
	log     strings.Builder
	changes int
	errs    []error
}

// Handle notes a line of the log: a change, or an error.
func (w *watched) Handle(ctx context.Context, line slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if line.Level == slog.LevelInfo {
		w.changes++
	}
	line.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			w.errs = append(w.errs, err)
		}
		return true
	})
	return slog.NewTextHandler(&w.log, nil).Handle(ctx, line)
}

func (w *watched) Enabled(context.Context, slog.Level) bool { return true }
func (w *watched) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w *watched) WithGroup(string) slog.Handler            { return w }

const interval = time.Second

// watch runs a test on a file with this content.
func watch(t *testing.T, content string, test func(w *watched)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, path: filepath.Join(dir, "limits.yaml")}
		w.write(content)
		w.open(limitfile.Config{})
		defer w.Close()
		test(w)
	})
}

// told returns the log, and the first error in it.
func (w *watched) told() (log string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String(), w.errs[0]
}

func (w *watched) open(cfg limitfile.Config) {
	w.Helper()
	cfg.Path, cfg.Interval = w.path, interval
	cfg.Logger = slog.New(w)
	f, err := limitfile.Open(cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.File = f
}

func (w *watched) write(content string) {
	w.Helper()
	if err := os.WriteFile(w.path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass lets the file be read n times.
func (w *watched) pass(n int) {
	time.Sleep(time.Duration(n) * interval)
	synctest.Wait()
}

// want checks the limit that holds, and the number of changes and errors.
func (w *watched) want(rate int64, changes, errs int) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.For("", "")[0].Rate; got != rate || w.changes != changes || len(w.errs) != errs {
		w.Errorf("rate %d, %d changes, errors %v; want rate %d, %d changes, %d errors", got, w.changes, w.errs, rate, changes, errs)
	}
}

func TestAFileThatIsReplacedHoldsOnceItWasFoundTwice(t *testing.T) {
	for name, replace := range map[string]func(w *watched, content string){
		"written in place": (*watched).write,
		"renamed over": func(w *watched, content string) {
			w.must(os.WriteFile(w.path+".new", []byte(content), 0o600))
			w.must(os.Rename(w.path+".new", w.path))
		},
		"with the same size and time": func(w *watched, content string) {
			info, err := os.Stat(w.path)
			w.must(err)
			w.write(content)
			w.must(os.Chtimes(w.path, info.ModTime(), info.ModTime()))
		},
		"removed and written again": func(w *watched, content string) {
			w.must(os.Remove(w.path))
			w.write(content)
		},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, in("[1/s]"), func(w *watched) {
				w.pass(3)
				w.want(1, 0, 0)
				before := w.Set()
				replace(w, in("[2/s]"))
				w.pass(1)
				w.want(1, 0, 0)
				w.pass(1)
				w.want(2, 1, 0)
				if before.For("", "")[0].Rate != 1 {
					t.Error("a set has changed")
				}
				w.pass(5)
				w.want(2, 1, 0)
			})
		})
	}
}

// Kubernetes swaps the link ..data, over which the links to the files lead.
func TestALinkThatMovesReplacesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, path: filepath.Join(dir, "limits.yaml")}
		for _, version := range []string{"1", "2"} {
			w.must(os.Mkdir(filepath.Join(dir, version), 0o700))
			w.must(os.WriteFile(filepath.Join(dir, version, "limits.yaml"), []byte(in("["+version+"/s]")), 0o600))
		}
		w.must(os.Symlink("1", filepath.Join(dir, "..data")))
		w.must(os.Symlink("..data/limits.yaml", w.path))
		w.open(limitfile.Config{})
		defer w.Close()
		w.want(1, 0, 0)
		w.must(os.Symlink("2", filepath.Join(dir, "..new")))
		w.must(os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
		w.must(os.RemoveAll(filepath.Join(dir, "1")))
		w.pass(2)
		w.want(2, 1, 0)
	})
}

func TestAFileThatIsWrongChangesNothingAndIsToldOnce(t *testing.T) {
	watch(t, in("[1/s]"), func(w *watched) {
		w.write(in("[2/s, {rate: 0, per: 1s}]"))
		w.pass(5)
		w.want(1, 0, 1)
		log, told := w.told()
		var e *limitfile.Error
		if !errors.As(told, &e) || e.Line != 2 || e.Column != 25 || e.Field != "plans.p[1].rate" || e.File != w.path {
			t.Errorf("the log got %v", told)
		}
		if !errors.Is(w.Err(), weir.ErrConfig) || w.Err().Error() != told.Error() {
			t.Errorf("Err() = %v", w.Err())
		}
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, "level=ERROR") || !strings.Contains(log, ":2:25: plans.p[1].rate: want") {
			t.Errorf("logged %s", log)
		}
		w.write(in("[3/s, x]")) // another mistake
		w.pass(5)
		w.want(1, 0, 2)
		w.write(in("[1/s]")) // as it was
		w.pass(5)
		w.want(1, 1, 2)
		if w.Err() != nil {
			t.Errorf("Err() = %v", w.Err())
		}
		w.write(in("[3/s, x]"))
		w.pass(5)
		w.want(1, 1, 3)
	})
}

func TestAFileThatIsStillBeingWrittenIsNotTaken(t *testing.T) {
	const old, long = "default: p\nplans: {p: [1/s]}\n", "default: p\nplans: {p: [2/s]}\nkeys:\n  a: [3/s]\n  b: [4/s]\n"
	watch(t, old, func(w *watched) {
		for n := range len(long) { // each part is there for one reading
			w.write(long[:n])
			w.pass(1)
		}
		w.want(1, 0, 0)
		w.write(long)
		w.pass(2)
		w.want(2, 1, 0)
		if got := w.For("b", "")[0].Rate; got != 4 {
			t.Errorf("b has %d", got)
		}
	})
}

func TestAFileThatIsGoneKeepsItsLastLimitsUntilItReturns(t *testing.T) {
	watch(t, in("[1/s]"), func(w *watched) {
		w.must(os.Remove(w.path))
		w.pass(5)
		w.want(1, 0, 1)
		if _, told := w.told(); !errors.Is(told, fs.ErrNotExist) || errors.Is(told, weir.ErrConfig) {
			t.Errorf("the log got %v", told)
		}
		w.must(os.Mkdir(w.path, 0o700))
		w.pass(5)
		w.want(1, 0, 2)
		w.must(os.Remove(w.path))
		w.write(in("[2/s]"))
		w.pass(2)
		w.want(2, 1, 2)
	})
}

func TestReloadTakesTheFileAtOnce(t *testing.T) {
	watch(t, in("[1/s]"), func(w *watched) {
		w.write(in("[2/s]"))
		w.must(w.Reload())
		w.want(2, 1, 0)
		w.must(w.Reload())
		w.pass(3)
		w.want(2, 1, 0)
		w.write("nothing")
		if first, again := w.Reload(), w.Reload(); first == nil || again == nil || first.Error() != again.Error() {
			t.Errorf("Reload() = %v, %v", first, again)
		}
		w.pass(3)
		w.want(2, 1, 1)
	})
}

func TestAFileWithoutAnIntervalIsReadByReloadAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, path: path}
		w.write(in("[1/s]"))
		f, err := limitfile.Open(limitfile.Config{Path: path, Interval: -1, Logger: slog.New(w)})
		w.must(err)
		w.File = f
		defer f.Close()
		w.write(in("[2/s]"))
		time.Sleep(time.Hour)
		w.want(1, 0, 0)
		w.must(f.Reload())
		w.want(2, 1, 0)
	})
}

func TestNothingIsToldOrTakenAfterClose(t *testing.T) {
	watch(t, in("[1/s]"), func(w *watched) {
		w.must(w.Close())
		w.must(w.Close())
		w.write(in("[2/s]"))
		w.pass(5)
		if err := w.Reload(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Reload() = %v", err)
		}
		w.want(1, 0, 0)
	})
}

// A reading at the instant of Close may come before Close, and never after it.
func TestNothingIsTakenByAReadingThatMeetsClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			w := &watched{T: t, path: path}
			w.write(in("[1/s]"))
			w.open(limitfile.Config{})
			w.write(in("[2/s]"))
			w.pass(1)
			time.Sleep(interval)
			w.must(w.Close())
			set := w.Set()
			synctest.Wait()
			if w.Set() != set {
				t.Error("a set was taken after Close")
			}
		})
	}
}

// calling is a log that calls its function for each error.
type calling struct {
	slog.Handler
	call func()
}

func (c calling) Enabled(_ context.Context, l slog.Level) bool { return l == slog.LevelError }

func (c calling) Handle(context.Context, slog.Record) error {
	c.call()
	return nil
}

func TestALogMayCallEveryMethod(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, path: path}
		w.write(in("[1/s]"))
		opened, told := make(chan *limitfile.File, 1), false
		f, err := limitfile.Open(limitfile.Config{Path: path, Logger: slog.New(calling{slog.DiscardHandler, func() {
			f := <-opened
			if told = true; f.Err() == nil || f.Reload() == nil || f.Close() != nil {
				t.Error("the error is gone")
			}
		}})})
		w.must(err)
		opened <- f
		w.write("")
		w.pass(3)
		if err := f.Reload(); !told || !errors.Is(err, os.ErrClosed) {
			t.Errorf("told: %v, Reload() = %v", told, err)
		}
	})
}

// TestAZeroFileHasNoLimits: a File that Open has not made panics nowhere.
func TestAZeroFileHasNoLimits(t *testing.T) {
	t.Parallel()
	f := new(limitfile.File)
	limits, err := f.Limits(nil, nil)(httptest.NewRequest(http.MethodGet, "/", nil))
	if len(limits)+len(f.For("ann", "free"))+len(limitfile.Plans(f.Set())) > 0 || err != nil {
		t.Errorf("limits %v, %v; want none", limits, err)
	}
	if err := errors.Join(f.Err(), f.Close()); err != nil {
		t.Error(err)
	}
	if err := f.Reload(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Reload: %v", err)
	}
}

func TestOpenFailsWithoutLimitsUnlessThereIsAFallback(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "limits.yaml")
	if _, err := limitfile.Open(limitfile.Config{Path: path}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := limitfile.Open(limitfile.Config{Path: dir}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a directory: %v", err)
	}
	for _, cfg := range []limitfile.Config{{}, {Path: path, Interval: 1}} {
		if _, err := limitfile.Open(cfg); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if err := os.WriteFile(path, []byte("default: p\nplans: {p: [0/s]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := limitfile.Open(limitfile.Config{Path: path})
	if e := (*limitfile.Error)(nil); !errors.As(err, &e) || e.Line != 2 {
		t.Errorf("wrong: %v", err)
	}
	fallback, err := limitfile.Parse("built in", []byte(in("[7/s]")))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, path: path}
		w.open(limitfile.Config{Fallback: fallback})
		defer w.Close()
		w.want(7, 0, 1)
		w.pass(3)
		w.want(7, 0, 1)
		w.write(in("[1/s]"))
		w.pass(2)
		w.want(1, 1, 1)
	})
}

func TestAFileThatIsTooLongIsToldSo(t *testing.T) {
	watch(t, in("[1/s]"), func(w *watched) {
		w.write("\ufeff" + in("[2/s]") + strings.Repeat("#", limitfile.MaxSize))
		w.pass(2)
		w.want(1, 0, 1)
		if _, told := w.told(); !strings.HasSuffix(told.Error(), ":1:1: want at most 1048576 bytes, got more") {
			t.Errorf("the log got %v", told)
		}
	})
}

// TestErrorNamesTheFileAsGiven: a relative path stays one.
func TestErrorNamesTheFileAsGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("limits.yaml", []byte("default: free"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := limitfile.Open(limitfile.Config{Path: "limits.yaml"})
	if e, ok := errors.AsType[*limitfile.Error](err); !ok || e.File != "limits.yaml" {
		t.Errorf("%v, want a mistake in limits.yaml", err)
	}
}

// TestFileStaysWhenTheProcessMoves: the path is relative to the folder at Open.
func TestFileStaysWhenTheProcessMoves(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("limits.yaml", []byte("plans: {free: [1/s]}\ndefault: free"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := limitfile.Open(limitfile.Config{Path: "limits.yaml", Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	t.Chdir(t.TempDir())
	if err := f.Reload(); err != nil {
		t.Error(err)
	}
}
