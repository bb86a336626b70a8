package limitfile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// fingerprint distinguishes contents, and errors of reading.
type fingerprint [sha256.Size]byte

func fingerprintOf(content []byte, err error) fingerprint {
	if err != nil {
		return sha256.Sum256([]byte("error\x00" + err.Error())) // right content has no \x00
	}
	return sha256.Sum256(content)
}

// contentOf returns a file's content, and maxSize+1 bytes of a longer file.
func contentOf(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // Opening a pipe would wait for a writer.
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("not a regular file: %w", fs.ErrInvalid)}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}
