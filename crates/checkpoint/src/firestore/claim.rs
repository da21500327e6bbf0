//! Claiming and renewing.

use std::time::Duration;

use super::{
    FirestoreStore,
    error::Failure,
    row::{Row, Token, token},
};
use verdict_graph::{
    rules,
    store::{Claim, Claimed, Lease, StoreError},
};

impl FirestoreStore {
    pub(super) async fn claim_run(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let (token, mut tries) = (token(), self.client.tries());
        loop {
            match self.try_claim(&claim, token).await {
                Ok(claimed) => return Ok(claimed),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn try_claim(&self, claim: &Claim, token: Token) -> Result<Claimed, Failure> {
        let Some(mut row) = self.row(&claim.run).await? else { return Ok(Claimed::Missing) };
        if row.claimed == Some(token) && row.head.lease.is_some() {
            // An earlier try was done, and its answer was lost.
            let lease = Lease { run: claim.run.clone(), epoch: row.head.epoch };
            return Ok(Claimed::Yours(lease, Box::new(row.head)));
        }
        let now = self.client.now().await?;
        let claimed = rules::claim(&mut row.head, claim, now);
        if matches!(claimed, Claimed::Yours(..)) {
            row.claimed = Some(token);
            self.save(&mut row, Vec::new()).await?;
            self.remember(row);
        }
        Ok(claimed)
    }

    pub(super) async fn renew_lease(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        let mut tries = self.client.tries();
        let mut known = self.held().get(&lease.run).cloned();
        loop {
            match self.try_renew(lease, ttl, known.take()).await {
                Ok(answer) => return answer,
                Err(failure) => {
                    self.forget(&lease.run);
                    tries.again(failure).await?;
                }
            }
        }
    }

    async fn try_renew(
        &self,
        lease: &Lease,
        ttl: Duration,
        known: Option<Row>,
    ) -> Result<Result<(), StoreError>, Failure> {
        let known = known.filter(|row| row.head.epoch == lease.epoch);
        let found = match known {
            Some(row) => Ok(row),
            None => self.current(&lease.run).await?,
        };
        let mut row = match found {
            Ok(row) => row,
            Err(missing) => return Ok(Err(missing)),
        };
        let now = self.client.now().await?;
        if let Err(fenced) = rules::renew(&mut row.head, lease, ttl, now) {
            return Ok(Err(fenced));
        }
        self.save(&mut row, Vec::new()).await?;
        self.remember(row);
        Ok(Ok(()))
    }
}
