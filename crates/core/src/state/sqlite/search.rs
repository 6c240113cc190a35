//! Ranked search of items for a question.

use std::cell::RefCell;

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::{
    listing::each_item,
    rows::{Item, VALUE_COLUMN, meta_columns},
};
use crate::{
    error::Result,
    state::{
        item::ItemText,
        ranking::{Candidates, Search, count_words},
        words::{ItemWords, Words},
    },
};

/// The items to rank.
#[derive(Default)]
struct Found {
    candidates: Candidates,
    /// The rows of the items, by the changes that wrote them.
    rows: FxHashMap<i64, i64>,
}

impl Found {
    fn push(&mut self, id: i64, sequence: i64, words: ItemWords) -> bool {
        self.rows.insert(sequence, id);
        self.candidates.push(words)
    }
}

/// The items that share a term with the query: best first, of equal ones the latest written first.
pub(super) fn search(
    connection: &Connection,
    words: &Words,
    search: Search,
) -> Result<rusqlite::Result<ItemText>> {
    let Some((query, listing, limit)) = search.parse() else {
        return Ok(Ok(ItemText::default()));
    };
    let found = RefCell::new(Found::default());
    let number = words.begin();
    let mut known = |id, sequence| {
        let words = words.get(sequence, number)?;
        Some(found.borrow_mut().push(id, sequence, words))
    };
    let done = each_item(connection, &listing, &mut known, &mut |item, value| {
        let counted =
            words.of_item(item.meta.revision.sequence, number, || count_words(&item.meta, value));
        Ok(found.borrow_mut().push(item.id, item.meta.revision.sequence, counted))
    })?;
    if let Err(error) = done {
        return Ok(Err(error));
    }
    let Found { candidates, rows } = found.into_inner();
    let best = candidates.best(&query, limit).into_iter();
    let best = best.filter_map(|(sequence, score)| Some((*rows.get(&sequence)?, score)));
    Ok(read(connection, best, listing.root))
}

fn read(
    connection: &Connection,
    best: impl Iterator<Item = (i64, f32)>,
    root: usize,
) -> rusqlite::Result<ItemText> {
    let mut items = ItemText::default();
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        meta_columns!(),
        ", value FROM item WHERE id = ?1"
    ))?;
    for (id, score) in best {
        let mut rows = select.query([id])?;
        if let Some(row) = rows.next()? {
            let item = Item::read(row)?;
            let inline = row.get_ref(VALUE_COLUMN)?.as_blob_or_null()?;
            items.push(&item.meta, item.content(connection, inline)?, Some(root), Some(score));
        }
    }
    Ok(items)
}
