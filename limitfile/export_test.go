package limitfile

// MaxSize bounds the size of a file, in bytes.
const MaxSize = maxSize
