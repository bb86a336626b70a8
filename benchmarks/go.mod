module github.com/goweir/weir/benchmarks

go 1.26.0

replace github.com/goweir/weir => ..
