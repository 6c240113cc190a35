//! Short byte strings as integers, which are compared without calling a function.

/// At most 32 bytes: four integers and the length. Where the bytes do not fill the integers, the last ones overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortBytes {
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    length: u8,
}

impl ShortBytes {
    pub(crate) const EMPTY: Self = Self { first: 0, second: 0, third: 0, fourth: 0, length: 0 };

    /// `None` if there are more than 32 bytes.
    #[inline]
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let length = u8::try_from(bytes.len()).ok().filter(|length| *length <= 32)?;
        let empty = Self { length, ..Self::EMPTY };
        let (Some((first, after)), Some(last)) =
            (bytes.split_first_chunk::<8>(), bytes.last_chunk::<8>())
        else {
            return Some(Self { first: up_to_seven(bytes), ..empty });
        };
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        if length <= 16 {
            return Some(Self { first, second: last, ..empty });
        }
        let (second, after) = after.split_first_chunk::<8>()?;
        let third = after.first_chunk::<8>().map_or(last, |third| u64::from_le_bytes(*third));
        Some(Self { first, second: u64::from_le_bytes(*second), third, fourth: last, length })
    }

    /// A slot of a table of this size, which is a power of two.
    #[inline]
    pub(crate) fn slot(&self, size: usize) -> usize {
        let Self { first, second, third, fourth, .. } = *self;
        let mixed = first ^ second.rotate_left(23) ^ third.rotate_left(43) ^ fourth.rotate_left(11);
        let product = (mixed ^ u64::from(self.length)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (product >> 32) as usize & (size - 1)
    }
}

/// Whether two byte strings are equal. Fast for short ones.
#[inline]
pub(crate) fn equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    match (left.first_chunk::<8>(), right.first_chunk::<8>()) {
        (Some(first), Some(other)) if left.len() <= 16 => {
            first == other && left.last_chunk::<8>() == right.last_chunk::<8>()
        }
        (None, None) => up_to_seven(left) == up_to_seven(right),
        _ => left == right,
    }
}

/// The integer of at most seven bytes; different for different byte strings of one length.
#[inline]
fn up_to_seven(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_equal_bytes_are_equal(
            left in prop::collection::vec(0_u8..3, 0..40),
            change in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut right = left.clone();
            if let Some(change) = change.filter(|_| !left.is_empty()) {
                let place = change.index(right.len());
                right[place] ^= 1;
            }
            prop_assert_eq!(equal(&left, &right), left == right);
            prop_assert_eq!(equal(&left, &right[1.min(right.len())..]), left.is_empty());
            prop_assert_eq!(ShortBytes::new(&left).is_some(), left.len() <= 32);
            prop_assert_eq!(ShortBytes::new(&left) == ShortBytes::new(&right), left == right || left.len() > 32);
        }
    }
}
