package delay

import (
	"net"
	"time"
)

// chunk is bytes of one direction of a connection, or its end.
type chunk struct {
	due    time.Time
	number int // in order of arrival
	to     net.Conn
	buf    *[16 << 10]byte // nil: the end
	n      int
}

// queue is a heap of chunks, the first due on top.
type queue []*chunk

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q queue) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].number < q[j].number
}

func (q *queue) Push(c any) { *q = append(*q, c.(*chunk)) }

func (q *queue) Pop() any {
	n := len(*q) - 1
	c := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return c
}
