//! A vector whose numbers have 8 bits, and the cosine of the angle between two.
//!
//! A number is a 127th of the vector's greatest, rounded. The angle between a vector of length 1 and its quantised form
//! is at most `asin(greatest / 254 * sqrt(dimensions))`, so the cosine of two vectors is off by at most the sum of both
//! angles. For texts, the error is about 0.001.

use simsimd::SpatialSimilarity;

/// The greatest number of dimensions: sums of products do not exceed 32 bits.
const MAX_DIMENSIONS: usize = 65_536;
/// The greatest number of a quantised vector.
const GREATEST: f32 = 127.0;

/// A quantised vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    numbers: Box<[i8]>,
    scale: f32,
}

impl Quantised {
    /// A vector in quantised form; `None` if it is empty, too long, or has a value that is not finite.
    #[must_use]
    pub fn of(vector: &[f32]) -> Option<Self> {
        let greatest = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let is_finite = vector.iter().all(|number| number.is_finite());
        if vector.is_empty() || vector.len() > MAX_DIMENSIONS || !is_finite {
            return None;
        }
        let quantum = |&number: &f32| {
            if greatest > 0.0 { (number / greatest * GREATEST).round() as i8 } else { 0 }
        };
        let numbers: Box<[i8]> = vector.iter().map(quantum).collect();
        let scale = scale_of(&numbers);
        Some(Self { numbers, scale })
    }

    /// Its numbers.
    #[must_use]
    pub fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    /// The factor that gives it the length 1.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// The cosine of the angle to a vector with as many numbers, which `scale` gives the length 1.
    pub(super) fn cosine(&self, numbers: &[i8], scale: f32) -> f32 {
        dot(&self.numbers, numbers) * self.scale * scale
    }
}

/// The factor that gives a vector the length 1; 0 for the vector of zeros.
pub(super) fn scale_of(numbers: &[i8]) -> f32 {
    let squares = dot(numbers, numbers);
    if squares > 0.0 { squares.sqrt().recip() } else { 0.0 }
}

/// The sum of the products, computed exactly with the processor's vector instructions.
fn dot(one: &[i8], other: &[i8]) -> f32 {
    i8::dot(one, other).unwrap_or_default() as f32
}
