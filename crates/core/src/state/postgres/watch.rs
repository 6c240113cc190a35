//! Reads the changes since a position, for watchers.

use std::ops::Range;

use super::{State, claim::DELETE, store::head_of};
use crate::{
    error::Result,
    state::{
        POLL,
        name::below,
        revision::{Position, Revision},
        watch::{ChangeList, Changed, MAX_CHANGES, expired},
    },
};

/// The head of the store and the changes after $2, of one moment. Without changes, one row with the head.
const READ: &str = "SELECT s.identity, s.sequence, s.forgotten, c.sequence, c.nonce, c.type, c.namespace, c.key FROM {schema}.document_store AS s LEFT JOIN {schema}.document_change AS c ON c.store = s.store AND c.sequence > $2 AND c.namespace >= $3 AND c.namespace < $4 WHERE s.store = $1 ORDER BY c.sequence LIMIT $5";

impl State {
    /// Waits for changes below a prefix, after a position.
    pub async fn changes(
        &self,
        mut position: Position,
        prefix: Vec<u8>,
        root: usize,
    ) -> Result<Changed> {
        let _call = self.calls.track();
        loop {
            // Registered before reading, so that a later change still wakes this task.
            let changed = self.writer.changed.notified();
            let found = self.changes_now(&position, &prefix, root).await?;
            if !found.is_empty {
                return Ok(found);
            }
            position = found.position;
            // After the timeout, changes by other processes are read.
            let _ = tokio::time::timeout(POLL, changed).await;
        }
    }

    async fn changes_now(&self, after: &Position, prefix: &[u8], root: usize) -> Result<Changed> {
        let Range { start, end } = below(prefix);
        let parameters = self
            .store
            .parameters()
            .number(after.sequence)
            .bytes(start)
            .bytes(end)
            .number(MAX_CHANGES);
        let rows = self.store.read(READ, &parameters).await?;
        let Some(first) = rows.first() else { return Err(expired(&self.store.name)) };
        let head = self.store.decoded(head_of(first))?;
        let is_known = after.identity == head.position.identity
            && after.sequence <= head.position.sequence
            && after.sequence >= head.forgotten;
        if !is_known {
            return Err(expired(&self.store.name));
        }
        let mut list = ChangeList::new(after.sequence);
        for row in &rows {
            let read = || {
                let Some(sequence) = row.try_get::<_, Option<i64>>(3)? else { return Ok(None) };
                let nonce = u32::try_from(row.try_get::<_, i64>(4)?).unwrap_or_default();
                let place: (Vec<u8>, Vec<u8>) = (row.try_get(6)?, row.try_get(7)?);
                let is_removal = row.try_get::<_, i64>(5)? == DELETE;
                Ok(Some((Revision { sequence, nonce }, place, is_removal)))
            };
            let Some((revision, (namespace, key), is_removal)) = self.store.decoded(read())? else {
                continue;
            };
            let identity = &head.position.identity;
            list.push((&namespace, &key), revision, is_removal, identity, root);
        }
        Ok(list.finish(head.position))
    }
}
