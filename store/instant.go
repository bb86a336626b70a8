package store

// Instant is a time by a store's clock, in microseconds. Instants of one store
// can be compared, those of different stores can't. 0: none.
type Instant int64
