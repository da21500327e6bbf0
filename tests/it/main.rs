//! The one integration binary.

mod queue;
