package names

// Join puts two names together.
func Join(a string, b string) string {
	return a + " " + b
}
