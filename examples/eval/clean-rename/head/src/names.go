package names

// Join puts two names together.
func Join(first string, last string) string {
	return first + " " + last
}
