package heed

// SetAgain makes a view that of a key whose pause has just ended.
func (v *View) SetAgain(again bool) { v.again = again }
