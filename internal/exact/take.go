package exact

import "github.com/goweir/weir/store"

// Group is what a request asks of one key.
type Group struct {
	Key     *Key
	Charges []store.Charge
	Places  []int // of the charges in the request; nil: all of them, in order
	Found   Found
	Receipt *Receipt // set by Take if the request is allowed and has a tag
	Kept    bool     // set by Take if the request is refused and the key has changed
	counts  bool
}

// Take decides a valid request on its groups, all or nothing, at a time of the store.
// It fills in outcomes, one for each charge. A tag other than 0 asks for receipts. room
// takes the lease that the request holds: it returns 0, or the instant from which
// there is room; nil: the request asks for none.
func Take(req *store.Request, groups []Group, outcomes []Outcome, v *Verdict, now, tag int64, room func() int64) {
	look := req.Free() || req.NeverFits() >= 0
	v.Now, v.Slot, v.Allowed = now, now, !look
	for i := range groups {
		g := &groups[i]
		g.Key.Open(&g.Found, g.Charges, now)
		g.Key.Find(&g.Found, g.Charges, now)
		g.counts = len(groups) == 1
		for j := range g.Charges {
			g.counts = g.counts || g.Charges[j].Cost > 0
		}
		if g.counts && !look {
			v.Slot = max(v.Slot, g.Found.Real)
		}
	}
	v.Allowed = v.Allowed && v.Slot-now <= MaxWait(req)
	if room != nil && (v.Allowed || req.Free() && req.NeverFits() < 0) {
		v.Full = room()
		v.Allowed = v.Full == 0 // A lease alone waits for no slot.
		look = look || v.Full > 0
	}
	for i := range groups {
		g := &groups[i]
		if v.Allowed && !look && g.counts {
			g.Key.Later(&g.Found, v.Slot)
			g.Receipt = g.Key.Book(&g.Found, g.Charges, now, tag)
		}
		g.see(v, outcomes, i, look)
		switch {
		case look || !g.counts:
			g.Key.Close(&g.Found)
		case !v.Allowed:
			g.Kept = g.Key.Refuse(&g.Found, now)
		}
	}
}

// see fills in the outcomes of a group.
func (g *Group) see(v *Verdict, outcomes []Outcome, key int, look bool) {
	for j := range g.Charges {
		at := j
		if g.Places != nil {
			at = g.Places[j]
		}
		o := &outcomes[at]
		o.Key, o.Slot = key, g.Found.Each[j]
		if look {
			o.Slot = v.Now
		}
		o.Remaining, o.Reset = g.Key.View(&g.Found, j, v.Now)
	}
	seen := Seen{Slot: g.Found.Slot, Paused: g.Key.Clock.Paused(v.Now)}
	if !g.Key.Clock.IsZero() {
		seen.Clock = &Move{Clock: g.Key.Clock, Before: g.Key.Clock}
	}
	v.Keys = append(v.Keys, seen)
}
