//! Maps a character to the positions of an expression that match it.

use rustc_hash::FxHashMap;

use super::{
    program::{Program, TooLarge},
    set::Set,
};

/// Maximum number of characters at which the set of positions changes. Memory is in proportion to it.
const MAX_BORDERS: usize = 1 << 14;

/// The positions of an expression by the character that they take.
#[derive(Debug)]
pub(super) struct Characters<const WORDS: usize> {
    ascii: Vec<Set<WORDS>>,
    /// The characters at which the set changes, ascending, each with the index of the set.
    borders: Vec<(u32, usize)>,
    sets: Vec<Set<WORDS>>,
}

impl<const WORDS: usize> Characters<WORDS> {
    pub fn new(program: &Program) -> Result<Self, TooLarge> {
        let mut by_class = vec![Set::EMPTY; program.classes.len()];
        for (position, (class, _)) in program.positions.iter().enumerate() {
            if let Some(set) = by_class.get_mut(*class) {
                set.insert(position);
            }
        }
        let mut changes = Vec::new();
        for (class, positions) in program.classes.iter().zip(&by_class) {
            for (first, last) in class {
                changes.push((u32::from(*first), positions));
                changes.push((u32::from(*last) + 1, positions));
            }
            if changes.len() > MAX_BORDERS {
                return Err(TooLarge);
            }
        }
        changes.sort_by_key(|(character, _)| *character);
        let mut sets = vec![Set::EMPTY];
        let mut numbers = FxHashMap::from_iter([(Set::EMPTY, 0)]);
        let mut borders = vec![(0, 0)];
        let mut current = Set::EMPTY;
        for (character, positions) in changes {
            // The end of a range removes the positions that its start added.
            current = current.symmetric_difference(positions);
            let number = *numbers.entry(current).or_insert_with(|| {
                sets.push(current);
                sets.len() - 1
            });
            match borders.last_mut() {
                Some(last) if last.0 == character => last.1 = number,
                _ => borders.push((character, number)),
            }
        }
        let mut characters = Self { ascii: Vec::new(), borders, sets };
        characters.ascii = (0..128).map(|code| *characters.search(code)).collect();
        Ok(characters)
    }

    /// The positions that take a character.
    #[inline]
    pub fn takers(&self, character: char) -> &Set<WORDS> {
        let code = u32::from(character);
        self.ascii.get(code as usize).unwrap_or_else(|| self.search(code))
    }

    fn search(&self, code: u32) -> &Set<WORDS> {
        let after = self.borders.partition_point(|(border, _)| *border <= code);
        let border = after.checked_sub(1).and_then(|border| self.borders.get(border));
        border.and_then(|(_, set)| self.sets.get(*set)).unwrap_or(&Set::EMPTY)
    }
}
