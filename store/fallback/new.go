package fallback

import (
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/breaker"
	"github.com/goweir/weir/store/localstore"
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It does no
// I/O, so it returns at once also while the primary is away.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.defaults()
	local, _ := localstore.New(localstore.Config{MaxKeys: max(cfg.MaxKeys, localstore.DefaultMaxKeys)}) // No error: MaxKeys is valid.
	s := &Store{cfg: cfg, primary: cfg.Primary, local: local}
	s.memory.Open(cfg.MaxKeys)
	if _, restores := cfg.Primary.(store.Restorer); restores {
		s.starter, _ = cfg.Primary.(store.Starter)
	} else {
		s.primary = plain{cfg.Primary}
	}
	s.clock.start = time.Now()
	s.breaker = breaker.Breaker{Probe: s.probe, Most: cfg.Probe, Tell: s.tell, Back: func() { s.took.Store(0); s.restoreAll(0) }, Since: s.clock.start}
	return s, nil
}

// tell logs a change and passes it to OnChange.
func (s *Store) tell(c Change) {
	if c.Err != nil {
		s.cfg.Logger.Warn("weir: the primary store is away", "error", c.Err, "after", c.After, "replicas", s.cfg.replicas())
	} else {
		s.cfg.Logger.Info("weir: the primary store is back", "after", c.After)
	}
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(c)
	}
}
