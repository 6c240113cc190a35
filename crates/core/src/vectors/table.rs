//! The vectors of one model in memory: all with the same number of dimensions, one after the other, within a capacity
//! in bytes. The least recently used one gives its place to a new one.

use rustc_hash::FxHashMap;

use super::{
    TextDigest,
    quantised::{Quantised, scale_of},
};

/// The cost of a vector beside its numbers, in bytes.
const OVERHEAD: usize = 64;

/// The vectors of one model.
pub(super) struct Table {
    capacity: usize,
    dimensions: usize,
    /// The places of texts in the lists below.
    places: FxHashMap<TextDigest, usize>,
    entries: Vec<Entry>,
    numbers: Vec<i8>,
    clock: u64,
}

/// A vector without its numbers.
#[derive(Clone, Copy)]
struct Entry {
    text: TextDigest,
    /// The factor that gives the vector the length 1.
    scale: f32,
    /// When it was last used.
    used: u64,
}

impl Table {
    /// An empty table of at most `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            dimensions: 0,
            places: FxHashMap::default(),
            entries: Vec::new(),
            numbers: Vec::new(),
            clock: 0,
        }
    }

    /// The number of dimensions; 0 without vectors.
    pub fn dimensions(&self) -> usize {
        if self.entries.is_empty() { 0 } else { self.dimensions }
    }

    /// The number of vectors that fit.
    pub fn room(&self) -> usize {
        self.room_for(self.dimensions())
    }

    /// The number of vectors with this many dimensions that fit.
    pub fn room_for(&self, dimensions: usize) -> usize {
        (self.capacity / (dimensions + OVERHEAD)).max(1)
    }

    /// Removes all vectors.
    pub fn clear(&mut self) {
        *self = Self { clock: self.clock, ..Self::new(self.capacity) };
    }

    /// Counts the following uses as later than those before.
    pub fn tick(&mut self) {
        self.clock += 1;
    }

    /// Inserts a vector, as the most recently used one. If its number of dimensions differs, all others are removed.
    pub fn insert(&mut self, text: TextDigest, vector: &Quantised) {
        self.insert_numbers(text, vector.numbers(), vector.scale());
    }

    /// As [`Table::insert`], of a vector that was saved.
    pub fn restore(&mut self, text: TextDigest, numbers: &[i8]) {
        if !self.places.contains_key(&text) {
            self.insert_numbers(text, numbers, scale_of(numbers));
        }
    }

    fn insert_numbers(&mut self, text: TextDigest, numbers: &[i8], scale: f32) {
        if numbers.len() != self.dimensions {
            self.clear();
            self.dimensions = numbers.len();
        }
        self.tick();
        let entry = Entry { text, scale, used: self.clock };
        let place = match self.places.get(&text) {
            Some(&place) => place,
            None if self.entries.len() < self.room_for(self.dimensions) => {
                self.places.insert(text, self.entries.len());
                self.entries.push(entry);
                self.numbers.extend(numbers);
                return;
            }
            None => self.evict(),
        };
        let start = place * self.dimensions;
        if let Some(slot) = self.numbers.get_mut(start..start + self.dimensions) {
            slot.copy_from_slice(numbers);
        }
        if let Some(slot) = self.entries.get_mut(place) {
            *slot = entry;
        }
        self.places.insert(text, place);
    }

    /// Removes the least recently used vector; returns its place.
    fn evict(&mut self) -> usize {
        let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
        let Some((place, entry)) = oldest else { return 0 };
        self.places.remove(&entry.text);
        place
    }

    /// Whether a text has a vector, which counts as a use.
    pub fn touch(&mut self, text: TextDigest) -> bool {
        self.place(text).is_some()
    }

    /// The place of a text's vector, which counts as a use.
    pub fn place(&mut self, text: TextDigest) -> Option<usize> {
        let place = *self.places.get(&text)?;
        self.entries.get_mut(place)?.used = self.clock;
        Some(place)
    }

    /// The cosine of the angle between a vector with as many dimensions and that at a place.
    pub fn cosine(&self, vector: &Quantised, place: usize) -> Option<f32> {
        Some(vector.cosine(self.numbers_at(place)?, self.entries.get(place)?.scale))
    }

    fn numbers_at(&self, place: usize) -> Option<&[i8]> {
        let start = place * self.dimensions;
        self.numbers.get(start..start + self.dimensions)
    }

    /// The numbers of a text's vector.
    pub fn numbers_of(&self, text: TextDigest) -> Option<&[i8]> {
        self.numbers_at(*self.places.get(&text)?)
    }

    /// The texts that have vectors, the least recently used first.
    pub fn in_order_of_use(&self) -> Vec<TextDigest> {
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| entry.used);
        entries.into_iter().map(|entry| entry.text).collect()
    }
}
