module github.com/goweir/weir/cmd/weir

go 1.26.0

replace (
	github.com/goweir/weir => ../..
	github.com/goweir/weir/dashboard => ../../dashboard
)

require (
	github.com/goweir/weir v0.0.0-00010101000000-000000000000
	github.com/goweir/weir/dashboard v0.0.0-00010101000000-000000000000
	github.com/guptarohit/asciigraph v0.10.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/spf13/cobra v1.10.2
	golang.org/x/term v0.46.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
