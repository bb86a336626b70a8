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

// read returns a file's content, and maxSize+1 bytes of a longer file.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		// Opening a pipe would wait for a writer.
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("not a regular file: %w", fs.ErrInvalid)}
	}
	if err != nil {
		return nil, fmt.Errorf("limitfile: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("limitfile: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("limitfile: %w", err)
	}
	return content, nil
}
