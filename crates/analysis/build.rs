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

/// The rule files below a folder, in order.
fn rules(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rules(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "yml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// An expression: the path of each rule file in its folder, and its text.
fn list(folder: &Path) -> io::Result<String> {
    let mut list = String::from("&[");
    for file in rules(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        list.push_str(&format!("({name:?}, include_str!({:?})),", fs::canonicalize(&file)?));
    }
    Ok(list + "]")
}

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("built_in.rs"), list(Path::new("src/rules"))?)?;
    let mut hash = 0xcbf2_9ce4_8422_2325;
    visit(Path::new("src"), &mut hash)?;
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=VERDICT_ANALYSIS_VERSION={hash:016x}");
    Ok(())
}
