package redisstore

import (
	"strings"

	"github.com/goweir/weir/store/redisstore/internal/script"
)

// apart reports whether no single server has all keys: their slots in a cluster differ, or
// they may be on different shards of a ring or servers behind a proxy. The hashing of these
// is unknown here.
func (s *Store) apart(keys []script.Key) bool {
	if !s.slotted.Load() {
		return false
	}
	first := slot(keys[0].State)
	for i := range keys {
		if s.ring || slot(keys[i].State) != first {
			return true
		}
	}
	return false
}

// slot returns the slot of a key in a cluster: the CRC-16 (XMODEM) of its hash tag, modulo
// 16384.
func slot(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}
