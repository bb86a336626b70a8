// House checks the shape of this repository against ceilings: how the files of each
// package hang together, how long they are, and how plain their English is.
//
//	go run ./.ci/house          compare the figures with .ci/ceilings
//	go run ./.ci/house -lower   lower the ceilings to the present figures
//
// A figure above its ceiling fails, and so does a package without a line. Ceilings
// only go down: -lower raises none, and adds the lines of new packages.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const ceilingsFile = ".ci/ceilings"

// columns names the figures of a row, in order. A row without a figure has "-".
var columns = []string{"files", "lines", "arrows", "cycle", "exported", "members"}

// row is a line of the table: a package's figures, or one figure of the repository.
type row struct {
	name    string
	figures []int
}

func main() {
	lower := flag.Bool("lower", false, "lower the ceilings to the present figures")
	flag.Parse()
	if err := run(*lower); err != nil {
		fmt.Fprintln(os.Stderr, ".ci/house:", err)
		os.Exit(1)
	}
}

func run(lower bool) error {
	present, err := figures()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(ceilingsFile)
	if err != nil {
		return err
	}
	ceilings, err := parse(string(text))
	if err != nil {
		return err
	}
	wrong, spare := compare(present, ceilings)
	for _, r := range present {
		if !lower && !has(ceilings, r.name) {
			wrong = append(wrong, r.name+" has no line")
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("above the ceilings in %s:\n%s", ceilingsFile, strings.Join(wrong, "\n"))
	}
	if lower {
		return os.WriteFile(ceilingsFile, format(present), 0o644)
	}
	fmt.Printf("%d rows are within %s\n", len(present), ceilingsFile)
	if len(spare) > 0 {
		fmt.Printf("lower them with go run ./.ci/house -lower:\n%s\n", strings.Join(spare, "\n"))
	}
	return nil
}

// compare returns a line for each figure above its ceiling, and for each below.
func compare(present, ceilings []row) (above, below []string) {
	for _, r := range present {
		i := slices.IndexFunc(ceilings, func(c row) bool { return c.name == r.name })
		if i < 0 {
			continue
		}
		for j, figure := range r.figures {
			line := fmt.Sprintf("%s: %d %s, ceiling %d", r.name, figure, columns[j], ceilings[i].figures[j])
			switch ceiling := ceilings[i].figures[j]; {
			case figure > ceiling:
				above = append(above, line)
			case figure < ceiling:
				below = append(below, line)
			}
		}
	}
	return above, below
}

func has(rows []row, name string) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.name == name })
}

// parse reads a table. Lines that begin with # are comments.
func parse(text string) (rows []row, err error) {
	for n, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 1+len(columns) {
			return nil, fmt.Errorf("%s:%d: want a name and %d figures, got %q", ceilingsFile, n+1, len(columns), line)
		}
		r := row{name: fields[0]}
		for _, f := range fields[1:] {
			figure := 0
			if f != "-" {
				if figure, err = strconv.Atoi(f); err != nil {
					return nil, fmt.Errorf("%s:%d: want a whole number or -, got %q", ceilingsFile, n+1, f)
				}
			}
			r.figures = append(r.figures, figure)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// format writes a table.
func format(rows []row) []byte {
	var b bytes.Buffer
	b.WriteString("# The ceilings that .ci/house checks. They only go down. Of the rows in\n# parentheses only the first figure counts: see figures in house/figures.go.\n")
	fmt.Fprintf(&b, "#%-33s", " package")
	for _, c := range columns {
		fmt.Fprintf(&b, " %8s", c)
	}
	b.WriteByte('\n')
	for _, r := range rows {
		fmt.Fprintf(&b, "%-34s", r.name)
		for i := range columns {
			if strings.HasPrefix(r.name, "(") && i > 0 {
				fmt.Fprintf(&b, " %8s", "-")
			} else {
				fmt.Fprintf(&b, " %8d", r.figures[i])
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
