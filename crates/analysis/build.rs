//! Names the analysers by their content: sources, rules and models. A review recorded by others is
//! not taken for one of these. And lists the files of the built-in rules.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// FNV-1a, 64 bits: names, and protects nothing.
fn add(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The files below a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// An expression: the path of each rule file in its folder, and its text.
fn list(files: &[PathBuf], folder: &Path) -> io::Result<String> {
    let mut list = String::from("&[");
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "yml")) {
        if let Ok(name) = file.strip_prefix(folder) {
            list.push_str(&format!("({name:?}, include_str!({:?})),", fs::canonicalize(file)?));
        }
    }
    Ok(list + "]")
}

fn main() -> io::Result<()> {
    let files = files(Path::new("src"))?;
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("built_in.rs"), list(&files, Path::new("src/rules"))?)?;
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in &files {
        add(&mut hash, file.to_string_lossy().as_bytes());
        add(&mut hash, &fs::read(file)?);
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=VERDICT_ANALYSIS_VERSION={hash:016x}");
    Ok(())
}
