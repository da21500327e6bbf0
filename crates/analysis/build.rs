//! Names the analysers by their content: sources, rules and models. A review recorded by others is
//! not taken for one of these. And reads the built-in rules and the models that values are followed by: a process that
//! reads their JSON starts sooner than one that reads YAML.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

mod ascii;

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

fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "yml")
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(file: &Path) -> io::Result<Value> {
    let wrong = |error| io::Error::other(format!("{}: {error}", file.display()));
    serde_saphyr::from_str(&fs::read_to_string(file)?).map_err(wrong)
}

/// What the expressions of a rule mean, spelled out.
fn narrow(rule: &mut Value) {
    match rule {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if matches!(key.as_str(), "regex" | "replace") => {
                *text = ascii::ascii(text);
            }
            other => narrow(other),
        }),
        Value::Array(items) => items.iter_mut().for_each(narrow),
        _ => {}
    }
}

/// An expression: the rule of one file in the folder of rules.
fn rule(file: &Path, folder: &Path) -> io::Result<String> {
    let name = file.strip_prefix(folder).map_err(io::Error::other)?;
    let mut rule = read(file)?;
    narrow(&mut rule);
    let of_rule = |key: &str| rule.get(key).and_then(Value::as_array).into_iter().flatten();
    let words = |key: &str| of_rule(key).filter_map(Value::as_str).collect::<Vec<_>>();
    let (languages, needs) = (words("languages"), words("needs"));
    let listed = format!("id: {:?}, languages: &{languages:?}, needs: &{needs:?}", stem(file));
    let examples = rule.as_object_mut().map(take_examples).unwrap_or_default();
    Ok(format!(
        "BuiltIn {{ file: {name:?}, {listed}, rule: {:?}, examples: {examples:?} }},",
        rule.to_string()
    ))
}

/// Most of a file, and needed only to try it or to explain it.
fn take_examples(rule: &mut Map<String, Value>) -> String {
    let all =
        ["valid", "invalid"].map(|key| (key.to_owned(), rule.remove(key).unwrap_or_default()));
    Value::Object(all.into_iter().collect()).to_string()
}

fn main() -> io::Result<()> {
    let files = files(Path::new("src"))?;
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let yaml = |folder| files.iter().filter(move |it| it.starts_with(folder) && is_yaml(it));
    let folder = Path::new("src/rules");
    let rules = yaml(folder).map(|file| rule(file, folder)).collect::<io::Result<String>>()?;
    fs::write(out.join("built_in.rs"), format!("&[{rules}]"))?;
    for file in yaml(Path::new("src/flow/models")) {
        let mut model = read(file)?;
        let examples = model.as_object_mut().and_then(|model| model.remove("examples"));
        let name = stem(file);
        fs::write(out.join(format!("{name}.json")), model.to_string())?;
        fs::write(
            out.join(format!("{name}.examples.json")),
            examples.unwrap_or_default().to_string(),
        )?;
    }
    println!("cargo::rerun-if-changed=ascii.rs");
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in files.iter().chain([&PathBuf::from("ascii.rs")]) {
        add(&mut hash, file.to_string_lossy().as_bytes());
        add(&mut hash, &fs::read(file)?);
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=VERDICT_ANALYSIS_VERSION={hash:016x}");
    Ok(())
}
