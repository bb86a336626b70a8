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
	if cfg.Local == nil {
		cfg.Local, _ = localstore.New(localstore.Config{}) // No error: its zero Config is valid.
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.defaults()
	s := &Store{cfg: cfg, primary: cfg.Primary}
	s.memory.Open(cfg.MaxKeys)
	if _, restores := cfg.Primary.(store.Restorer); restores {
		s.starter, _ = cfg.Primary.(store.Starter)
	} else {
		s.primary = plain{cfg.Primary}
	}
	s.seeder, _ = cfg.Local.(Seeder)
	s.clock.start = time.Now()
	s.breaker = breaker.Breaker{Probe: s.probe, Most: cfg.Probe, Tell: s.tell, Back: func() { s.restoreAll(0) }, Since: s.clock.start}
	return s, nil
}

// tell logs a change and passes it to OnChange.
func (s *Store) tell(c Change) {
	if c.Err != nil {
		s.cfg.Logger.Warn("weir: the primary store is away", "error", c.Err, "after", c.After)
	} else {
		s.cfg.Logger.Info("weir: the primary store is back", "after", c.After)
	}
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(c)
	}
}
