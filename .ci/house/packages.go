package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package of the root module.
type pkg struct {
	dir     string // below the root; "." is the root
	files   []string
	imports types.Importer
	fset    *token.FileSet
}

// listPackages returns the packages of the root module outside examples and docs.
func listPackages() (packages []pkg, err error) {
	out, err := command("go", "list", "-export", "-deps", "-f", `{{.ImportPath}}	{{.Export}}	{{if not .Standard}}{{.Module.Main}}	{{.Dir}}	{{join .GoFiles " "}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[f[0]] = f[1]
		if len(f) < 5 || f[2] != "true" {
			continue
		}
		dir, err := filepath.Rel(root, f[3])
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "docs") || f[4] == "" {
			continue
		}
		packages = append(packages, pkg{dir, strings.Fields(f[4]), imports, fset})
	}
	slices.SortFunc(packages, func(a, b pkg) int { return strings.Compare(a.dir, b.dir) })
	return packages, nil
}

// measure returns the figures of a package: see columns. An arrow leads from a file
// to another that declares something it uses.
func (p *pkg) measure() (row, error) {
	var parsed []*ast.File
	lines := 0
	for _, name := range p.files {
		path := filepath.Join(p.dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			return row{}, err
		}
		lines += bytes.Count(content, []byte("\n"))
		f, err := parser.ParseFile(p.fset, path, content, 0)
		if err != nil {
			return row{}, err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: p.imports}).Check(p.dir, p.fset, parsed, info)
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", p.dir, err)
	}
	graph := p.arrows(checked, info)
	arrows := 0
	for _, to := range graph {
		arrows += len(to)
	}
	exported, members := exports(checked)
	return row{filepath.ToSlash(p.dir), []int{len(p.files), lines, arrows, largestCycle(graph), exported, members}}, nil
}

// arrows returns, for each file, the files that it uses something of.
func (p *pkg) arrows(checked *types.Package, info *types.Info) map[string]map[string]bool {
	graph := map[string]map[string]bool{}
	for _, name := range p.files {
		graph[name] = map[string]bool{}
	}
	for id, o := range info.Uses {
		if o.Pkg() != checked || !o.Pos().IsValid() {
			continue
		}
		if v, ok := o.(*types.Var); ok && !v.IsField() && v.Parent() != checked.Scope() {
			continue // local
		}
		from, to := p.fileOf(id.Pos()), p.fileOf(o.Pos())
		if from != to {
			graph[from][to] = true
		}
	}
	return graph
}

func (p *pkg) fileOf(pos token.Pos) string { return filepath.Base(p.fset.Position(pos).Filename) }

// exports counts the exported names of a package, and with them their exported
// fields and methods.
func exports(checked *types.Package) (names, members int) {
	for _, name := range checked.Scope().Names() {
		o := checked.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		names++
		members++
		t, ok := o.(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		named := t.Type().(*types.Named)
		for m := range named.Methods() {
			members += count(m.Exported())
		}
		switch under := named.Underlying().(type) {
		case *types.Struct:
			for f := range under.Fields() {
				members += count(f.Exported())
			}
		case *types.Interface:
			for m := range under.ExplicitMethods() {
				members += count(m.Exported())
			}
		}
	}
	return names, members
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// largestCycle returns the number of files of the largest set in which each reaches
// all others.
func largestCycle(graph map[string]map[string]bool) int {
	reach := map[string]map[string]bool{}
	for from := range graph {
		seen := map[string]bool{from: true}
		for todo := []string{from}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for to := range graph[at] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reach[from] = seen
	}
	largest := 0
	for a := range graph {
		size := 0
		for b := range reach[a] {
			size += count(reach[b][a])
		}
		largest = max(largest, size)
	}
	return largest
}
