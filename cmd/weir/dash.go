package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/goweir/weir/dashboard"
	"github.com/spf13/cobra"
)

func newDash() *cobra.Command {
	var c connection
	var listen string
	var cfg dashboard.Config
	cmd := &cobra.Command{
		Use: "dash", Short: "Serve a live page: keys, queues, pauses, latency",
		Long: `Serves a live page over the keys in Redis: busy keys, waiting calls, pauses,
latency. Ctrl-C ends it. The page does not ask who visits it, so the address
has to be one of this machine, unless --public says otherwise.`,
		Example: "  weir dash\n  weir dash --listen 127.0.0.1:9000 --show-keys --allow-changes",
	}
	c.flags(cmd)
	_ = cmd.Flags().MarkHidden("json")
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8377", "address of the page")
	public := f.Bool("public", false, "listen on an address that other machines reach")
	f.BoolVar(&cfg.ShowKeys, "show-keys", false, "show keys as they are, not as hashes")
	f.BoolVar(&cfg.AllowChanges, "allow-changes", false, "let visitors pause, resume and reset keys")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		at, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil || !*public && !at.IP.IsLoopback() {
			return &exit{exitUsage, errFlag("listen", listen, "a loopback address with a port, as 127.0.0.1:8377, or --public")}
		}
		return c.with(func(s *session) error {
			cfg.Client, cfg.Prefix = s.Client(), s.Prefix()
			if err := s.Client().Ping(cmd.Context()).Err(); err != nil {
				return err
			}
			l, err := net.ListenTCP("tcp", at)
			if err != nil {
				return &exit{exitUsage, fmt.Errorf("--listen %q: %w: name another address", listen, errors.Unwrap(err))}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
			return dashboard.Serve(cmd.Context(), l, cfg)
		})
	}
	return cmd
}
