#!/usr/bin/env bash
# What a change does to weir's own benchmarks: those of an earlier commit and
# those of this tree, in turns, compared by benchstat.
#
#   benchmarks/compare.sh [commit]      without one: the last tag, or the last commit
#
# PASSES (6, the least that benchstat calls significant), TIME (0.2s, of each
# benchmark), BENCH (., a regular expression) and PACKAGES may be set.
# Anything else that the machine does meets both alike, and makes both noisier.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

readonly benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
readonly passes=${PASSES:-6} time=${TIME:-0.2s} bench=${BENCH:-.}
readonly packages=${PACKAGES:-. ./store/localstore ./store/redisstore ./store/fallback ./middleware ./adapters/gin ./adapters/echo}

# A tag of this very commit is nothing to compare with.
ref=${1:-$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || echo HEAD^)}
commit=$(git rev-parse --verify --quiet "$ref^{commit}") || {
	echo "compare.sh: there is no commit $ref" >&2
	exit 1
}

scratch=$(mktemp -d)
clean_up() {
	git worktree remove --force "$scratch/tree" 2>/dev/null || true
	rm -rf "$scratch"
}
trap clean_up EXIT
git worktree add --quiet --detach "$scratch/tree" "$commit"
mkdir "$scratch/old" "$scratch/new"

# build compiles the tests of a package, and fails where it has no benchmarks.
build() { # tree, side, package
	local program
	program=$scratch/$2/$(tr -c 'a-z\n' _ <<<"$3").test
	[ -d "$1/$3" ] && grep -qs '^func Benchmark' "$1/$3"/*_test.go || return 1
	(cd "$1" && go test -c -o "$program" "$3") >&2 && echo "$program"
}

# run runs one of them where its test data are. What fails is said, and left out.
run() { # tree, side, package, program
	(cd "$1/$3" && "$4" -test.run '^$' -test.bench "$bench" -test.benchtime "$time" -test.benchmem) >>"$scratch/$2.txt" 2>"$scratch/said" || {
		echo "compare.sh: $3 failed ($2):" >&2
		tail -n 5 "$scratch/said" >&2
	}
}

both=()
for package in $packages; do
	if old=$(build "$scratch/tree" old "$package") && new=$(build "$PWD" new "$package"); then
		both+=("$package" "$old" "$new")
	else
		echo "compare.sh: $package is left out: it has no benchmarks that compile on both sides" >&2
	fi
done
[ ${#both[@]} -gt 0 ] || exit 1

for ((pass = 1; pass <= passes; pass++)); do
	echo "compare.sh: pass $pass of $passes" >&2
	for ((i = 0; i < ${#both[@]}; i += 3)); do
		run "$scratch/tree" old "${both[i]}" "${both[i + 1]}"
		run "$PWD" new "${both[i]}" "${both[i + 2]}"
	done
done

echo "old: $ref ($(git rev-parse --short "$commit"))   new: $(git describe --always --dirty)"
# Its version is pinned, and none of weir's modules needs it.
(cd "$scratch" && GOFLAGS=-mod=mod go run "$benchstat" "old=old.txt" "new=new.txt")
