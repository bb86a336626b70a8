module github.com/goweir/weir/examples/retryablehttp

go 1.26.0

replace github.com/goweir/weir => ../..

require (
	github.com/goweir/weir v0.0.0-00010101000000-000000000000
	github.com/hashicorp/go-retryablehttp v0.7.8
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
)
