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
        ranking::{Candidates, MissingTexts, Search, Texts},
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
        self.candidates.push(sequence, words)
    }
}

/// The items that share a term with the question or are near to it: best first, of equal ones the latest written first.
pub(super) fn search(
    connection: &Connection,
    words: &Words,
    search: Search,
) -> Result<rusqlite::Result<ItemText>> {
    let Some((question, listing)) = search.parse() else {
        return Ok(Ok(ItemText::default()));
    };
    let found = RefCell::new(Found::default());
    let number = words.begin();
    let mut known = |id, sequence| {
        let words = words.get(sequence, number)?;
        Some(found.borrow_mut().push(id, sequence, words))
    };
    let done = each_item(connection, &listing, &mut known, &mut |item, value| {
        let counted = words.of_item(item.meta.revision.sequence, number, || {
            Texts::of(&item.meta, value).words(&item.meta)
        });
        Ok(found.borrow_mut().push(item.id, item.meta.revision.sequence, counted))
    })?;
    if let Err(error) = done {
        return Ok(Err(error));
    }
    let Found { candidates, rows } = found.into_inner();
    let best = candidates.best(&question).into_iter();
    let best = best.filter_map(|(sequence, score)| Some((*rows.get(&sequence)?, score)));
    Ok(read(connection, best, listing.root))
}

/// The texts without a vector of items that a search would rank.
pub(super) fn texts_without_vector(
    connection: &Connection,
    words: &Words,
    search: Search,
    missing: MissingTexts,
) -> Result<rusqlite::Result<Vec<String>>> {
    let listing = search.listing();
    let number = words.begin();
    let missing = RefCell::new(missing);
    let mut known = |_, sequence| {
        let words = words.get(sequence, number)?;
        let mut missing = missing.borrow_mut();
        missing.has_vector(&words).then(|| missing.pass())
    };
    let done = each_item(connection, &listing, &mut known, &mut |item, value| {
        let texts = Texts::of(&item.meta, value);
        let sequence = item.meta.revision.sequence;
        let counted = words.of_item(sequence, number, || texts.words(&item.meta));
        let mut missing = missing.borrow_mut();
        Ok(if missing.has_vector(&counted) { missing.pass() } else { missing.push(&texts) })
    })?;
    Ok(done.map(|()| missing.into_inner().into_texts()))
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
