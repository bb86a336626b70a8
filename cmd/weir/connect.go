package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// connection has the flags of commands that ask Redis.
type connection struct {
	url, prefix string
	json        bool
}

func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.url, "redis", "", "URL of Redis; without it $WEIR_REDIS")
	f.StringVar(&c.prefix, "prefix", "weir:", "start of all keys: redisstore.Config.Prefix")
	f.BoolVar(&c.json, "json", false, "print JSON")
}

type session struct {
	*redisstore.Store
	*inspect.Inspector
}

// open makes a store and an inspector. It does no I/O.
func (c *connection) open() (*session, error) {
	url := cmp.Or(c.url, os.Getenv("WEIR_REDIS"), "redis://localhost:6379")
	s, err := redisstore.Open(url, redisstore.Config{Prefix: c.prefix})
	if wrong, ok := errors.AsType[*weir.ConfigError](err); ok {
		flag := "--redis"
		switch {
		case strings.Contains(wrong.Field, "Prefix"):
			flag = "--prefix"
		case c.url == "":
			flag = "WEIR_REDIS"
		}
		return nil, &exit{exitUsage, fmt.Errorf("%s: want %s, got %s", flag, wrong.Want, wrong.Got)}
	}
	if err != nil {
		return nil, err
	}
	return &session{s, inspect.New(s.Client(), s.Prefix())}, nil
}

// with runs f with a session, and gives its error an exit code.
func (c *connection) with(f func(s *session) error) error {
	s, err := c.open()
	if err != nil {
		return err
	}
	err = f(s)
	_ = s.Close() // Nothing is lost.
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	return failed(err)
}

// target reads a KEY.
func (s *session) target(text string) (rediskey.Name, error) {
	prefix := s.Prefix()
	wrong := &exit{exitUsage, fmt.Errorf("key %q: want LIMITER:KEY as weir keys shows it, or a name in Redis as %s{LIMITER:KEY}", text, prefix)}
	if strings.HasPrefix(text, "#") {
		text = prefix + "{" + text + "}"
	}
	if strings.HasPrefix(text, prefix+"{") {
		name, ok := rediskey.Parse(prefix, text)
		if !ok || name.Part != "" {
			return name, wrong
		}
		return name, nil
	}
	limiter, key, _ := rediskey.ParseText(text)
	if !strings.Contains(text, ":") {
		return rediskey.Name{}, wrong
	}
	return rediskey.Name{Scope: limiter, Key: key, State: rediskey.State(prefix, limiter, key)}, nil
}

func (s *session) find(ctx context.Context, text string) (inspect.Key, error) {
	t, err := s.target(text)
	if err != nil {
		return inspect.Key{}, err
	}
	return s.Stored(ctx, t.State)
}

// hint says that a client of one server leaves out the other masters of a cluster. HELLO
// needs no permission, so servers outside clusters deny nothing here.
func (s *session) hint(ctx context.Context) string {
	one, single := s.Client().(*redis.Client)
	if !single {
		return ""
	}
	hello := redis.NewMapStringInterfaceCmd(ctx, "hello")
	if one.Process(ctx, hello) != nil || hello.Val()["mode"] != "cluster" {
		return ""
	}
	// cluster_size is the number of masters that have slots.
	if info, err := one.ClusterInfo(ctx).Result(); err == nil && strings.Contains(info, "cluster_size:1\r") {
		return ""
	}
	return one.Options().Addr + " is one master of a cluster, and keys of the others are missing: name the address once more as addr in the URL"
}

// completeKey completes a KEY from those in Redis.
func (c *connection) completeKey(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	var found []string
	_ = c.with(func(s *session) error {
		l, err := s.List(ctx, inspect.Query{Contains: start, MaxKeys: 200, MaxScan: 20_000})
		for i := range l.Keys {
			if text, ok := completion(l.Keys[i].Text(), start); ok {
				found = append(found, text)
			}
		}
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

// print writes v as JSON with --json, and else text.
func (c *connection) print(cmd *cobra.Command, v any, text func(p *page)) error {
	if c.json {
		return printJSON(cmd.OutOrStdout(), v)
	}
	var p page
	text(&p)
	_, err := cmd.OutOrStdout().Write(p.Bytes())
	return err
}
