//! Sorts packed keys by counting, which is faster for many keys than comparing them.

/// Bits that one pass sorts by; three passes sort by 32 bits.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;
const PASSES: u32 = u32::BITS.div_ceil(DIGIT_BITS);

/// Fewer keys are sorted by comparing.
const LEAST_COUNTED: usize = 1 << 10;

/// Sorts keys by their upper halves. Their lower halves must ascend; so they do afterwards among equal upper halves.
pub(crate) fn sort_by_upper_half(keys: &mut Vec<u64>) {
    if keys.len() < LEAST_COUNTED {
        keys.sort_unstable();
        return;
    }
    let mut sorted = vec![0; keys.len()];
    for pass in 0..PASSES {
        let digit = |key: u64| (key >> (u32::BITS + pass * DIGIT_BITS)) as usize % DIGITS;
        let mut ends = [0_usize; DIGITS];
        for key in keys.iter() {
            ends.get_mut(digit(*key)).into_iter().for_each(|count| *count += 1);
        }
        let mut start = 0;
        for end in &mut ends {
            // Set to the start of the digit; advanced below for each of its keys.
            start += std::mem::replace(end, start);
        }
        for key in keys.iter() {
            if let Some(end) = ends.get_mut(digit(*key)) {
                sorted.get_mut(*end).into_iter().for_each(|slot| *slot = *key);
                *end += 1;
            }
        }
        std::mem::swap(keys, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_sorted(values in prop::collection::vec(prop_oneof![any::<u32>(), 0_u32..50], 0..3000)) {
            let mut keys: Vec<u64> = values.iter().zip(0..).map(|(value, number)| u64::from(*value) << 32 | number).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_by_upper_half(&mut keys);
            prop_assert_eq!(keys, expected);
        }
    }
}
