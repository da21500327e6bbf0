//! The names of changed files without the secrets in them. Whatever happens to a change afterwards
//! knows these names only, so that no report, log or state shows such a secret. A forge does not know
//! the file by this name: what is said about its lines stands in the summary there.

use std::collections::HashSet;

use crate::{
    analysis::{Finding, secrets::mask},
    forge::{FileChange, Status},
};

/// Masks the secrets in the names of `files`; answers a finding for each in a name that is new. No two
/// files get the same name.
pub(super) fn mask_names(files: &mut [FileChange]) -> Vec<Finding> {
    let mut taken: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let mut findings = Vec::new();
    for file in files {
        let old = file.old_path.take().map(mask);
        file.old_path = old.map(|old| old.text.to_string());
        let name = mask(std::mem::take(&mut file.path));
        file.path = name.text.to_string();
        if !name.any() {
            continue;
        }
        for number in 2.. {
            if taken.insert(file.path.clone()) {
                break;
            }
            // In front, so that the ending still tells the language.
            let (folder, own) = name.text.split_at(name.text.rfind('/').map_or(0, |at| at + 1));
            file.path = format!("{folder}{number}~{own}");
        }
        if matches!(file.status, Status::Added | Status::Renamed | Status::Copied) {
            let found = name.name_findings();
            findings.extend(found.into_iter().map(|f| Finding { path: file.path.clone(), ..f }));
        }
    }
    findings
}
