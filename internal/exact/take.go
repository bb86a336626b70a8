package exact

import "github.com/goweir/weir/store"

// Group is the part of a request about one key.
type Group struct {
	Key     *Key
	Charges []store.Charge
	Found   Found
	// Counts is true if the request charges the key or has no other key. Take sets it
	// before it calls room.
	Counts bool
	Kept   bool // set by Take: the request is refused and the key has changed
}

// Take decides a valid request on its groups, all or nothing, at a time of the store. It
// fills in outcomes, one for each charge. A tag other than 0 asks for receipts.
//
// Once the limits admit the request, Take calls room to take the request's lease:
//
//	room returns   meaning
//	0              the lease is taken
//	an instant     there is room from then on
//	-1             the store fails
//
// A nil room takes no lease.
func Take(req *store.Request, groups []Group, outcomes []Outcome, v *Verdict, now, tag int64, room func() int64) {
	look := req.Free() || req.NeverFits() >= 0
	v.Now, v.Slot, v.Allowed = now, now, !look
	if len(v.Keys) != len(groups) {
		v.Keys = make([]Seen, len(groups))
	}
	for i := range groups {
		g := &groups[i]
		g.Key.Open(&g.Found, g.Charges, now)
		g.Key.Find(&g.Found, g.Charges, now)
		g.Counts = len(groups) == 1
		for j := range g.Charges {
			g.Counts = g.Counts || g.Charges[j].Cost > 0
		}
		if g.Counts && !look {
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
		if v.Allowed && !look && g.Counts {
			g.Key.Later(&g.Found, v.Slot)
			v.Keys[i].Receipt = g.Key.Book(&g.Found, g.Charges, now, tag)
		}
		g.see(v, outcomes, i, look)
		switch {
		case look || !g.Counts:
			g.Key.Close(&g.Found)
		case !v.Allowed:
			g.Kept = g.Key.Refuse(&g.Found, now)
		}
	}
}

// see fills in the outcomes of a group.
func (g *Group) see(v *Verdict, outcomes []Outcome, key int, look bool) {
	for j := range g.Charges {
		o := &outcomes[g.Found.place(j)]
		o.Key, o.Slot = key, g.Found.Each[j]
		if look {
			o.Slot = v.Now
		}
		o.Remaining, o.Reset = g.Key.View(&g.Found, j, v.Now)
	}
	seen := &v.Keys[key]
	seen.Others, seen.Slot, seen.Clock = g.Found.others(), g.Found.Slot, unmoved(g.Key.Clock)
}
