#![no_main]

#[path = "../src/review.rs"]
#[allow(dead_code, reason = "the others are other binaries'")]
mod review;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| review::source(bytes));
