//! Names made from content.

use sha2::{Digest, Sha256};

/// The first 16 bytes, in hex, of a SHA-256 over `parts`, each led by its length.
pub fn hash_hex(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
