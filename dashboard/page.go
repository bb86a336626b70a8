package dashboard

import (
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

// document is the page as text. A saved page has its data in place of {{data}}.
type document struct {
	text   string
	policy string // the Content-Security-Policy of the live page
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
	return document{page, policy + "; frame-ancestors 'none'"}
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

// with returns the page with data: JSON with escaped <, > and &. Without data it is the live
// page, which connects to the server.
func (d *document) with(data []byte) []byte {
	script := ""
	if data != nil {
		script = `<script type="application/json" id="data">` + string(data) + "</script>\n"
	}
	return []byte(strings.Replace(d.text, "{{data}}", script, 1))
}
