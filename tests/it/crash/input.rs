//! Bad input, through the real binary: a clear error with the right exit code, or a dead letter
//! with a reason; never a panic, and nothing lost.
