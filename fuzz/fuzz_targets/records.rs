#![no_main]

#[path = "../src/targets.rs"]
#[allow(dead_code, reason = "the others are other binaries'")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::records(bytes));
