//! `verdict health`: does the server of these settings answer?

use super::{CliError, output};
use crate::{app::App, config::Settings};

pub(super) async fn main(settings: &Settings) -> Result<(), CliError> {
    let address = App::health(settings).await.map_err(CliError::failed)?;
    output::print(&format!("http://{address}/livez answers\n"))
}
