//! Claiming.

use super::rows::{self, Records};
use crate::db::{DbError, Postgres, postgres::Repeat};
use verdict_graph::{
    rules,
    store::{Claim, Claimed, Lease},
};

/// Reads, decides, and takes the run if it is still as it was read.
pub(super) async fn claim(db: &Postgres, claim: &Claim) -> Result<Claimed, DbError> {
    let token = fastrand::u128(..);
    for _ in 0..rows::ROUNDS {
        let Some((mut row, now)) = rows::look(db, claim.run.as_str()).await? else {
            return Ok(Claimed::Missing);
        };
        // Taken by an attempt whose answer was lost.
        if row.token == Some(token) {
            let lease = Lease { run: claim.run.clone(), epoch: row.head.epoch };
            return Ok(Claimed::Yours(lease, Box::new(row.head)));
        }
        let claimed = rules::claim(&mut row.head, claim, now);
        if !matches!(claimed, Claimed::Yours(..)) {
            return Ok(claimed);
        }
        row.token = Some(token);
        if rows::change(db, Repeat::Harmless, row, &Records::default(), None).await? {
            return Ok(claimed);
        }
    }
    Err(rows::restless(claim.run.as_str()))
}
