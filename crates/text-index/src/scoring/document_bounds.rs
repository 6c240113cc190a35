//! Upper bounds of the text scores of all documents in segments, from which [`crate::scoring::top_ranking`] chooses the
//! documents to score.

use std::cell::Cell;
use std::ops::RangeInclusive;

use crate::index::view::View;
use crate::scoring::threshold::Threshold;

/// Number of documents per block, for which the highest bound is kept.
const BLOCK: usize = 32;

/// Factor by which a sum of rounded numbers may exceed the sum of their bounds.
pub(crate) const ROUNDING: f32 = 1.0001;

/// A document: the number of its segment, and its position there.
pub(crate) type Place = (u32, u32);

thread_local! {
    /// Memory for the next query: it is touched everywhere, so that allocating it costs more than filling it.
    static SPARE: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// For each document an upper bound of its text score; exact if the document is scored.
pub(crate) struct DocumentBounds {
    /// For each segment the number of its first document, and at the end of the list the number of documents; each segment begins
    /// with a new block.
    starts: Vec<usize>,
    bounds: Vec<f32>,
    /// The highest bound of each block.
    most: Vec<f32>,
    is_scored: Vec<u64>,
}

impl DocumentBounds {
    /// All bounds are zero.
    pub(crate) fn new(view: &View) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for segment in &view.segments {
            end += segment.len().next_multiple_of(BLOCK);
            starts.push(end);
        }
        let mut bounds = SPARE.take();
        bounds.clear();
        bounds.resize(end, 0.0);
        let is_scored = vec![0; end.div_ceil(u64::BITS as usize)];
        Self { starts, bounds, most: Vec::new(), is_scored }
    }

    /// The bounds of a segment's documents. [`Self::update`] has to be called after a change.
    pub(crate) fn of_segment(&mut self, segment: usize) -> &mut [f32] {
        let ends = self.starts.get(segment).zip(self.starts.get(segment + 1));
        ends.and_then(|(start, end)| self.bounds.get_mut(*start..*end)).unwrap_or_default()
    }

    /// Computes the highest bounds of the blocks.
    pub(crate) fn update(&mut self) {
        self.most.clear();
        self.most.extend(self.bounds.chunks(BLOCK).map(highest));
    }

    /// The bound of a document; 0 if the segment does not contain it.
    pub(crate) fn get(&self, place: Place) -> f32 {
        self.number(place).and_then(|number| self.bounds.get(number)).copied().unwrap_or_default()
    }

    /// The bounds of adjacent documents of a segment.
    pub(crate) fn range(&self, segment: u32, places: RangeInclusive<u32>) -> &[f32] {
        let (start, end) = places.into_inner();
        let start = self.number((segment, start));
        let range = start.zip(self.number((segment, end)));
        range.and_then(|(start, end)| self.bounds.get(start..=end)).unwrap_or_default()
    }

    /// The highest bound.
    pub(crate) fn most(&self) -> f32 {
        highest(&self.most)
    }

    /// A lower bound of the bounds of the best `count` documents.
    pub(crate) fn least_of_best(&self, count: usize) -> f32 {
        let mut best = Threshold::new(count);
        self.most.iter().for_each(|most| best.push(*most));
        best.get()
    }

    /// Sets the exact text score of a document.
    pub(crate) fn set(&mut self, place: Place, text: f32) {
        let Some(number) = self.number(place) else { return };
        self.bounds.get_mut(number).into_iter().for_each(|bound| *bound = text);
        let most = self.most.get_mut(number / BLOCK);
        most.into_iter().for_each(|most| *most = text.max(*most));
    }

    /// Takes the documents that are not scored and whose bound is at least `least` and not zero; they count as scored from now
    /// on. Ascending.
    pub(crate) fn take_unscored(&mut self, least: f32) -> Vec<Place> {
        let mut taken = Vec::new();
        let mut numbers = Vec::new();
        self.for_each_from(least, |place, number, _| {
            let bits = self.is_scored.get(number / 64).copied().unwrap_or_default();
            if bits >> (number % 64) & 1 == 0 {
                taken.push(place);
                numbers.push(number);
            }
        });
        for number in numbers {
            let bits = self.is_scored.get_mut(number / 64);
            bits.into_iter().for_each(|bits| *bits |= 1 << (number % 64));
        }
        taken
    }

    /// The documents whose bound is at least `least` and not zero, ascending, with their bounds.
    pub(crate) fn from(&self, least: f32) -> Vec<(Place, f32)> {
        let mut found = Vec::new();
        self.for_each_from(least, |place, _, bound| found.push((place, bound)));
        found
    }

    fn for_each_from(&self, least: f32, mut visit: impl FnMut(Place, usize, f32)) {
        let is_enough = |bound: f32| bound > 0.0 && bound * ROUNDING >= least;
        let mut segment = 0;
        let blocks = self.most.iter().zip(self.bounds.chunks(BLOCK)).enumerate();
        for (block, (_, bounds)) in blocks.filter(|(_, (most, _))| is_enough(**most)) {
            for (number, bound) in
                (block * BLOCK..).zip(bounds).filter(|(_, bound)| is_enough(**bound))
            {
                while self.starts.get(segment + 1).is_some_and(|end| *end <= number) {
                    segment += 1;
                }
                let start = self.starts.get(segment).copied().unwrap_or_default();
                visit((segment as u32, (number - start) as u32), number, *bound);
            }
        }
    }

    fn number(&self, (segment, place): Place) -> Option<usize> {
        let start = self.starts.get(segment as usize)?;
        let number = start + place as usize;
        self.starts.get(segment as usize + 1).filter(|end| number < **end).map(|_| number)
    }
}

/// The highest of numbers that are not negative; 0 for none.
pub(crate) fn highest(numbers: &[f32]) -> f32 {
    // Several maxima side by side compile to vector instructions; `f32::max` does not.
    let greater = |left: f32, right: f32| if left > right { left } else { right };
    let mut most = [0.0_f32; 8];
    let (chunks, rest) = numbers.as_chunks::<8>();
    for chunk in chunks {
        for (most, number) in most.iter_mut().zip(chunk) {
            *most = greater(*number, *most);
        }
    }
    most.iter().chain(rest).copied().fold(0.0, greater)
}

impl Drop for DocumentBounds {
    fn drop(&mut self) {
        SPARE.set(std::mem::take(&mut self.bounds));
    }
}
