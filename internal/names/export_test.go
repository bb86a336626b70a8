package names

// Users returns how many users a name has.
func Users(name string) int {
	users.Lock()
	defer users.Unlock()
	return len(users.of[name])
}
