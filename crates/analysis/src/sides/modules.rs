//! Which file a module of Python or JavaScript is.

/// A module as an import names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Module {
    /// Python: the number of leading dots, and its names.
    Python(usize, Vec<String>),
    /// JavaScript: a relative path.
    Script(String),
}

/// Whether `module`, imported by the file `from`, is the file `target`. If so, the paths that would
/// be loaded in its place if they exist.
pub(super) fn resolve(module: &Module, from: &str, target: &str) -> Option<Vec<String>> {
    let mut folder: Vec<&str> = from.split('/').collect();
    folder.pop();
    match module {
        Module::Python(0, names) => absolute(names, &folder, target),
        Module::Python(dots, names) => {
            let up = folder.len().checked_sub(dots - 1)?;
            let mut parts = folder[..up].to_vec();
            parts.extend(names.iter().map(String::as_str));
            (python_module(target)? == parts).then(|| package(target))
        }
        Module::Script(path) => script(path, folder, target),
    }
}

/// The names of the Python module in a file, from the repository's root.
fn python_module(path: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = path.strip_suffix(".py")?.split('/').collect();
    parts.pop_if(|last| *last == "__init__");
    Some(parts)
}

/// The package that would be loaded in place of the module.
fn package(path: &str) -> Vec<String> {
    let single = path.strip_suffix(".py").filter(|_| !path.ends_with("__init__.py"));
    single.map(|stem| format!("{stem}/__init__.py")).into_iter().collect()
}

/// Folders that are import roots for the files beside them.
const ROOTS: &[&str] = &["src", "lib", "python"];

fn absolute(names: &[String], folder: &[&str], target: &str) -> Option<Vec<String>> {
    let parts = python_module(target)?;
    let at = parts.len().checked_sub(names.len()).filter(|_| !names.is_empty())?;
    let (before, own) = parts.split_at(at);
    let near = match before {
        [outer @ .., last] if ROOTS.contains(last) => folder.starts_with(outer),
        _ => folder.starts_with(before),
    };
    if own != names || !near {
        return None;
    }
    let mut rivals = package(target);
    let named = |folder: &[&str], end: &str| {
        let own = names.iter().map(String::as_str);
        format!("{}{end}", folder.iter().copied().chain(own).collect::<Vec<_>>().join("/"))
    };
    for up in (0..=folder.len()).filter(|up| folder[..*up] != *before) {
        rivals.push(named(&folder[..up], ".py"));
        rivals.push(named(&folder[..up], "/__init__.py"));
    }
    // Inside a package the module would have a longer name.
    if !before.is_empty() {
        rivals.push(format!("{}/__init__.py", before.join("/")));
    }
    Some(rivals)
}

fn script<'p>(path: &'p str, mut folder: Vec<&'p str>, target: &str) -> Option<Vec<String>> {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                folder.pop()?;
            }
            part => folder.push(part),
        }
    }
    let whole = folder.join("/");
    let ends = [".js", ".jsx", ".mjs", ".cjs"];
    if target == whole || ends.iter().any(|end| target.strip_suffix(end) == Some(&whole)) {
        return Some(Vec::new());
    }
    let index = ends.iter().any(|end| target.strip_suffix(end) == Some(&format!("{whole}/index")));
    let files = ends.iter().chain(&[".ts", ".tsx"]);
    index.then(|| files.map(|end| format!("{whole}{end}")).collect())
}
