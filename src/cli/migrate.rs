//! `verdict migrate`: the store's schema, brought up to date.

use super::{CliError, output};
use crate::{
    app::{App, Migrated},
    config::Settings,
};

pub(super) async fn main(settings: &Settings) -> Result<(), CliError> {
    let store = &settings.store.url;
    let said = match App::migrate(settings).await? {
        None => format!("{store} has no schema: nothing to do"),
        Some(Migrated { from: None, to }) => {
            format!("{store} has schema version {to}: nothing to do")
        }
        Some(Migrated { from: Some(0), to }) => format!("{store}: made schema version {to}"),
        Some(Migrated { from: Some(from), to }) => {
            format!("{store}: brought from schema version {from} to {to}")
        }
    };
    output::print(&format!("{said}\n"))
}
