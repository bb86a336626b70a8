package delay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerFD is a timer of the kernel.
type timerFD struct {
	file *os.File
	fd   int
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &timerFD{os.NewFile(uintptr(fd), "timerfd"), fd}, nil
}

func (t *timerFD) set(d time.Duration) {
	// It fails only after end.
	_ = unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}, nil)
}

func (t *timerFD) wait() bool {
	var expired [8]byte
	_, err := t.file.Read(expired[:])
	return err == nil
}

func (t *timerFD) end() { t.file.Close() }
