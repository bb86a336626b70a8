module github.com/goweir/weir/cmd/weir

go 1.26.0

replace github.com/goweir/weir => ../..

require (
	github.com/goweir/weir v0.0.0-00010101000000-000000000000
	github.com/guptarohit/asciigraph v0.10.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
)
