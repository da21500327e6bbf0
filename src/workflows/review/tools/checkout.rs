//! The folder that a tool runs in: some files of the head, which it may only read, a home and a folder
//! for temporary files of its own. It goes with its value; what a process that died left behind goes
//! when the next one is made.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Component, Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use crate::base::Fault;

/// What the names of all these folders begin with.
const PREFIX: &str = "verdict-tool-";

/// Held by whoever uses the folder; the system lets go of it when the process dies.
const LOCK: &str = "lock";

/// A folder without a lock that is younger may be in the making.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// A file is not written.
pub(super) enum Unwritten {
    /// Its name cannot be one in a folder.
    Refused(String),
    /// The machine cannot.
    Machine(Fault),
}

/// The folder of one run of a tool.
pub(super) struct Checkout {
    folder: TempDir,
    /// The same without links in it.
    root: PathBuf,
    _lock: File,
}

impl Checkout {
    pub(super) fn new() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let private = Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        lock.lock()?;
        let root = fs::canonicalize(folder.path())?;
        let checkout = Self { folder, root, _lock: lock };
        for folder in [checkout.files(), checkout.home(), checkout.temporary()] {
            make_folder(&folder)?;
        }
        Ok(checkout)
    }

    /// Where the files are.
    pub(super) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// A home.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// For temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Writes a file. There are no links in the folder, and names only lead further in.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), Unwritten> {
        let inside = |part: Component<'_>| match part {
            Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
            _ => false,
        };
        if path.is_empty() || path.ends_with('/') || !Path::new(path).components().all(inside) {
            return Err(Unwritten::Refused("its name leads elsewhere".to_owned()));
        }
        let write = || {
            let path = self.files().join(path);
            make_folder(path.parent().unwrap_or(&path))?;
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o400).open(path)?;
            file.write_all(text.as_bytes())
        };
        write().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
            | ErrorKind::NotADirectory => Unwritten::Refused(error.to_string()),
            _ => Unwritten::Machine(no_folder(&error)),
        })
    }

    /// Takes the right to write from the folders with the files.
    pub(super) fn seal(&self) -> io::Result<()> {
        set_modes(&self.files(), 0o500)
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        // What fails here is tried again when the next folder is made.
        let _: io::Result<()> = set_modes(self.folder.path(), 0o700);
    }
}

/// What an error of the system says about the folder.
pub(super) fn no_folder(error: &io::Error) -> Fault {
    let place = std::env::temp_dir();
    Fault::transient(format!("its folder cannot be made in {}: {error}", place.display()))
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Sets the mode of a folder and of those in it; links are not followed.
fn set_modes(folder: &Path, mode: u32) -> io::Result<()> {
    // Made readable first, or nothing in it is found.
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            set_modes(&entry.path(), mode)?;
        }
    }
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// Removes folders that nobody holds any more.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            let _: io::Result<()> = set_modes(&entry.path(), 0o700);
            let _: io::Result<()> = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let Ok(about) = fs::symlink_metadata(folder) else { return false };
    if !about.is_dir() {
        return false;
    }
    match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok() && is_old(&about),
        Err(_) => is_old(&about),
    }
}

fn is_old(about: &fs::Metadata) -> bool {
    let age = about.modified().ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > ABANDONED_AFTER)
}
