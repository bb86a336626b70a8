package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
	"sync"
)

//go:embed page
var files embed.FS

// scripts are the parts of the page's script, in order. uPlot from npm comes before them,
// and each copy has its license.
var scripts = []string{"format.js", "table.js", "chart.js", "panels.js", "live.js"}

// document is the page as text, in two parts: a saved page has its data between them.
type document struct {
	head, tail []byte
	policy     string // the Content-Security-Policy of the live page
}

// assemble makes the page from its files, once.
var assemble = sync.OnceValue(func() document {
	style := file("uplot.css") + file("page.css")
	script := "/*\n" + file("uplot.LICENSE") + "*/\n" + file("uplot.js") + "\n(() => {\n'use strict';\n"
	for _, name := range scripts {
		script += file(name)
	}
	script += "})();\n"
	allow := "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) + "; img-src data:; base-uri 'none'; form-action 'none'"
	policy := allow + "; connect-src 'self'"
	page := strings.NewReplacer("{{csp}}", policy, "{{style}}", style, "{{script}}", script).Replace(file("page.html"))
	head, tail, ok := strings.Cut(page, "{{data}}")
	if !ok {
		panic("dashboard: page.html has no place for data")
	}
	return document{[]byte(head), []byte(tail), policy + "; frame-ancestors 'none'"}
})

func file(name string) string {
	text, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("dashboard: " + err.Error())
	}
	return string(text)
}

// hashOf returns the source expression that allows an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// live returns the page without data, which connects to the server.
func (d *document) live() []byte { return bytes.Join([][]byte{d.head, d.tail}, nil) }

// with returns the page with data: JSON with escaped <, > and &.
func (d *document) with(data []byte) []byte {
	return bytes.Join([][]byte{d.head, []byte(`<script type="application/json" id="data">`), data, []byte("</script>\n"), d.tail}, nil)
}
