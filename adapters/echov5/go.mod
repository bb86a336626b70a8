module github.com/goweir/weir/adapters/echov5

go 1.26.0

replace github.com/goweir/weir => ../..

require (
	github.com/goweir/weir v0.0.0-00010101000000-000000000000
	github.com/labstack/echo/v5 v5.3.1
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	golang.org/x/time v0.16.0 // indirect
)
