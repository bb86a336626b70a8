package weir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/weirtest"
)

// enums are the exported types with a value for each case: their texts by value.
var enums = map[string]struct {
	value func(n uint8) fmt.Stringer
	texts string
}{
	"weir.EventKind":          {func(n uint8) fmt.Stringer { return weir.EventKind(n) }, "unknown decision wait store_error lease_lost"},
	"weir.Bound":              {func(n uint8) fmt.Stringer { return weir.Bound(n) }, "none max_wait deadline"},
	"store.Algorithm":         {func(n uint8) fmt.Stringer { return store.Algorithm(n) }, "gcra sliding_window sliding_counter fixed_window aligned_window"},
	"store.Reason":            {func(n uint8) fmt.Stringer { return store.Reason(n) }, "allowed limited never_fits too_many_waiters paused in_flight"},
	"fallback.Policy":         {func(n uint8) fmt.Stringer { return fallback.Policy(n) }, "local open closed local_then_closed"},
	"fallback.State":          {func(n uint8) fmt.Stringer { return fallback.State(n) }, "closed open half_open"},
	"middleware.HeaderStyle":  {func(n uint8) fmt.Stringer { return middleware.HeaderStyle(n) }, "draft11 x x_epoch draft6 none"},
	"middleware.StoreFailure": {func(n uint8) fmt.Stringer { return middleware.StoreFailure(n) }, "open closed"},
	"weirtest.RetryAfterForm": {func(n uint8) fmt.Stringer { return weirtest.RetryAfterForm(n) }, "seconds none fraction millis date"},
	"weirtest.Refusal":        {func(n uint8) fmt.Stringer { return weirtest.Refusal(n) }, "admitted limit in_flight command"},
}

func TestEnumsHaveTexts(t *testing.T) {
	t.Parallel()
	for name, enum := range enums {
		texts := strings.Fields(enum.texts)
		for n, want := range texts {
			if got := enum.value(uint8(n)).String(); got != want {
				t.Errorf("%s(%d) is %q, want %q", name, n, got, want)
			}
		}
		n := uint8(len(texts))
		if got := enum.value(n).String(); got != "unknown" && got != fmt.Sprintf("algorithm(%d)", n) {
			t.Errorf("%s(%d) is %q, want no text of a value", name, n, got)
		}
	}
}

// TestEnumsAreKnown finds every exported type with iota values in the source.
func TestEnumsAreKnown(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, dir := range []string{".", "store", "store/*", "middleware", "upstream", "retry", "weirtest", "limitfile", "adapters/*"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range enumsOf(file) {
				found[name] = true
			}
		}
	}
	got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(enums))
	if !slices.Equal(got, want) {
		t.Errorf("the source has %v, the table above %v", got, want)
	}
}

// enumsOf returns the exported types of a file's groups of numbered constants.
func enumsOf(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		first := group.Specs[0].(*ast.ValueSpec)
		of, ok := first.Type.(*ast.Ident)
		if !ok || !of.IsExported() || len(group.Specs) == 1 {
			continue
		}
		if _, literal := first.Values[0].(*ast.BasicLit); !literal { // A text needs no other.
			names = append(names, file.Name.Name+"."+of.Name)
		}
	}
	return names
}
