//! Any text as a settings file: an answer, never a panic, and what was accepted can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use verdict::config::{QueueUrl, Settings, StoreUrl, known_keys};

fuzz_target!(|text: &str| {
    match Settings::parse(text) {
        Ok(settings) => assert_eq!(settings.describe().len(), known_keys().len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for place in text.lines() {
        if let Ok(url) = place.parse::<StoreUrl>() {
            assert!(!url.to_string().is_empty());
        }
        if let Ok(url) = place.parse::<QueueUrl>() {
            assert!(!url.to_string().is_empty());
        }
    }
});
