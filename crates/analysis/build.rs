//! Names the analysers by their content: sources, rules and models. A review recorded by others is
//! not taken for one of these.

use std::{fs, io, path::Path};

/// FNV-1a, 64 bits: names, and protects nothing.
fn add(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

fn visit(folder: &Path, hash: &mut u64) -> io::Result<()> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            visit(&path, hash)?;
        } else {
            add(hash, path.to_string_lossy().as_bytes());
            add(hash, &fs::read(&path)?);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    visit(Path::new("src"), &mut hash)?;
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=VERDICT_ANALYSIS_VERSION={hash:016x}");
    Ok(())
}
