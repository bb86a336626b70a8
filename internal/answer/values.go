package answer

import "net/http"

// Values holds the first few header values of a response, so that setting a
// header does not allocate.
type Values struct {
	list [4]string
	used int
}

// Set replaces a header. The name must be in the form that http.Header stores.
func (v *Values) Set(h http.Header, name, value string) {
	if v.used == len(v.list) {
		h[name] = []string{value}
		return
	}
	i := v.used
	v.used++
	v.list[i] = value
	// Without room to spare, so that a handler's Add never writes into the next value.
	h[name] = v.list[i : i+1 : i+1]
}

// add appends to a header's list.
func (v *Values) add(h http.Header, name, value string) {
	if len(h) > 0 && len(h[name]) > 0 {
		h[name] = append(h[name], value)
		return
	}
	v.Set(h, name, value)
}
