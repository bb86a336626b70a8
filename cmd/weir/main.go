// Command weir works with limits.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "weir", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newSimulate())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
		os.Exit(2)
	}
}
