package fallback_test

import (
	"testing"

	"github.com/goweir/weir/store/fallback"
)

// A health endpoint may ask before New has returned, or after it has failed.
func TestZeroStoreIsClosed(t *testing.T) {
	var s fallback.Store
	if state := s.State(); state != fallback.StateClosed {
		t.Errorf("a zero Store is %v, want closed", state)
	}
	if after, err := s.Away(); after != 0 || err != nil {
		t.Errorf("a zero Store is away for %v: %v", after, err)
	}
}
