package combine

// list is a doubly linked list. Its elements own their nodes, so no operation
// allocates.
type list[T any] struct{ first, last *node[T] }

// node is the place of one element in a list.
type node[T any] struct {
	prev, next *node[T]
	of         T
}

func (l *list[T]) empty() bool { return l.first == nil }

// push appends a node that is in no list.
func (l *list[T]) push(n *node[T]) {
	if n.prev = l.last; n.prev != nil {
		n.prev.next = n
	} else {
		l.first = n
	}
	l.last = n
}

// remove takes a node out of the list that contains it.
func (l *list[T]) remove(n *node[T]) {
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		l.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		l.last = n.prev
	}
	n.prev, n.next = nil, nil
}

// pop removes and returns the first element of a list that is not empty.
func (l *list[T]) pop() T {
	n := l.first
	l.remove(n)
	return n.of
}
