//! Makes verdict's App on GitHub: a page on the loopback address sends the browser to GitHub with a
//! manifest; what comes back becomes settings.

use std::{
    fs::OpenOptions,
    io::Write as _,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    extract::{Query, State},
    response::Html,
    routing::get,
};
use serde::Deserialize;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::AppError;
use crate::{
    base::{Clock, ExposeSecret},
    checkpoint::Memory,
    config::Settings,
    forge::github::{Manifest, NewApp, exchange},
};

/// What to make, and where to write it.
pub struct Setup {
    /// The App's name.
    pub name: String,
    /// The organisation it is to belong to.
    pub organization: Option<String>,
    /// Where GitHub sends events.
    pub webhook_url: String,
    /// The settings file, which gets a section `[github]`.
    pub file: PathBuf,
}

/// The App that was made.
pub struct SetUp {
    /// Where it is installed.
    pub install_url: String,
    /// The private key's file.
    pub key_path: PathBuf,
}

/// A page that waits for a browser.
pub struct Waiting {
    /// Where the page is.
    pub url: String,
    setup: Setup,
    settings: Settings,
    state: String,
    codes: mpsc::Receiver<Callback>,
    _serving: AbortOnDropHandle<()>,
}

/// What GitHub sends the browser back with.
#[derive(Debug, Deserialize)]
struct Callback {
    code: String,
    #[serde(default)]
    state: String,
}

impl Setup {
    fn key_path(&self) -> PathBuf {
        self.file.with_file_name("verdict-app.pem")
    }

    /// Refuses what could not be written afterwards: GitHub shows the key only once.
    fn check(&self) -> Result<(), AppError> {
        let there = |path: &Path| {
            let why = format!("{} is there already: move it away first", path.display());
            AppError::new("github.private_key_path", why)
        };
        if self.key_path().exists() {
            return Err(there(&self.key_path()));
        }
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        if text.lines().any(|line| line.trim() == "[github]") {
            let why = format!("{} has a section [github] already", self.file.display());
            return Err(AppError::new("github", why));
        }
        Ok(())
    }

    /// Opens the page on a free port of the loopback address.
    ///
    /// # Errors
    /// When settings could not be written, or no port can be had.
    pub async fn start(self, settings: Settings) -> Result<Waiting, AppError> {
        self.check()?;
        let failed = |error: std::io::Error| AppError::new("the page of the setup", error);
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let listener = listener.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let state = format!("{:032x}", fastrand::u128(..));
        let manifest = Manifest {
            name: self.name.clone(),
            organization: self.organization.clone(),
            webhook_url: self.webhook_url.clone(),
            redirect_url: format!("{url}/callback"),
        };
        let form = manifest.form_url(&settings.github, &state);
        let form = form.map_err(|fault| AppError::new("github.url", fault))?;
        let page: Arc<str> = page(&form, &manifest.json().to_string()).into();
        let (sender, codes) = mpsc::channel(1);
        let routes = Router::new()
            .route("/", get(move || async move { Html(page.to_string()) }))
            .route("/callback", get(called_back))
            .with_state(sender);
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::warn!(%error, "the page of the setup ended");
            }
        });
        let _serving = AbortOnDropHandle::new(serving);
        Ok(Waiting { url, setup: self, settings, state, codes, _serving })
    }
}

async fn called_back(
    State(codes): State<mpsc::Sender<Callback>>,
    Query(callback): Query<Callback>,
) -> Html<&'static str> {
    match codes.send(callback).await {
        Ok(()) => Html("The App is made. The terminal says what is left to do."),
        Err(_) => Html("The setup has ended. Start it again."),
    }
}

/// A form that posts itself.
fn page(form: &str, manifest: &str) -> String {
    let escaped =
        |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><title>verdict</title><form action=\"{}\" method=\"post\">\
         <input type=\"hidden\" name=\"manifest\" value=\"{}\">\
         <button>Make the App on GitHub</button></form>\
         <script>document.forms[0].submit()</script>",
        escaped(form),
        escaped(manifest)
    )
}

impl Waiting {
    /// Waits for the browser, makes the App and writes the settings.
    ///
    /// # Errors
    /// When GitHub does not make it, or nothing can be written.
    pub async fn finish(mut self) -> Result<SetUp, AppError> {
        let code = loop {
            match self.codes.recv().await {
                Some(callback) if callback.state == self.state => break callback.code,
                Some(_) => tracing::warn!("a browser came back from another setup"),
                None => return Err(AppError::new("the page of the setup", "it ended")),
            }
        };
        let store = Arc::new(Memory::new(Clock::system()));
        let app = exchange(&self.settings.github, store, &code).await;
        let app = app.map_err(|fault| AppError::new("github", fault))?;
        let key_path = self.setup.key_path();
        let unwritten = |path: &Path, error: std::io::Error| {
            AppError::new("github", format!("{} cannot be written: {error}", path.display()))
        };
        append(&key_path, app.pem.expose_secret()).map_err(|error| unwritten(&key_path, error))?;
        let file = &self.setup.file;
        append(file, &section(&app, &key_path)).map_err(|error| unwritten(file, error))?;
        Ok(SetUp { install_url: format!("{}/installations/new", app.html_url), key_path })
    }
}

fn section(app: &NewApp, key_path: &Path) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let secret = app.webhook_secret.as_ref();
    let secret = secret.map(|one| format!("webhook_secret = {}\n", text(one.expose_secret())));
    let key_path = text(&key_path.display().to_string());
    let id = app.id;
    format!(
        "\n[github]\napp_id = {id}\nprivate_key_path = {key_path}\n{}",
        secret.unwrap_or_default()
    )
}

/// Appends to a file, which only its owner may read if it is new.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
