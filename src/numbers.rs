//! Conversions of numbers between Rust and JavaScript, which has only doubles.

/// A whole number from 0 up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts saturate, and the JavaScript side lets only whole numbers from 0 up pass"
)]
pub fn whole(number: f64) -> u64 {
    number as u64
}

/// A size, clamped to what this machine can address.
pub fn size(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}

/// A time in ms since 1970.
pub fn time(milliseconds: f64) -> i64 {
    i64::try_from(whole(milliseconds)).unwrap_or(i64::MAX)
}

/// A number for JavaScript.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, which no count reaches")]
pub fn number(count: u64) -> f64 {
    count as f64
}

/// A number for JavaScript.
pub fn count(count: usize) -> f64 {
    number(count as u64)
}
