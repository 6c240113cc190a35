//! Rules out most positions of a text at which no anchor begins, 64 positions at once and without a branch per position. Every
//! three adjacent bytes are looked up in one small table, whose entries hold the offsets in anchors at which the bytes occur.

/// Number of positions that are examined at once.
pub(super) const BLOCK: usize = u64::BITS as usize;
/// Number of bytes after a block that are read with it: three bytes at each of the next three positions, loaded as four.
const BEHIND: usize = 7;
const INPUT: usize = BLOCK + BEHIND + 1;
/// Number of bytes per lookup.
const LENGTH: usize = 3;
const TABLE_BITS: u32 = 14;
/// Anchors of at least this length are recognised by their first six bytes, shorter ones by their first four or three.
const LONG: usize = 6;

/// Bits of a table entry: the offset in an anchor at which the three bytes occur. Offset 0 of an anchor of three bytes, offsets 0
/// and 1 of one of four or five bytes, offsets 0 to 3 of a longer one.
const SHORT: u8 = 1;
const FOUR: [u8; 2] = [1 << 1, 1 << 2];
const SIX: [u8; 4] = [1 << 3, 1 << 4, 1 << 5, 1 << 6];

/// Bits of a candidate's kind: an anchor of three bytes may begin at the next position; an anchor of four or five bytes, or a longer
/// one, may begin at this position.
pub(super) const SHORT_IS_NEXT: u8 = 1;
pub(super) const LONG_IS_HERE: u8 = 6;
/// Masks of the anchor prefixes by which candidates are confirmed: three, four, six and eight bytes.
const BEGINNING: [u64; 4] = [0xFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF, u64::MAX];
const CONFIRMED_BITS: u32 = 15;
/// Candidates of a block with more than this number are not confirmed: most of them are likely to be anchors.
const FEW: u32 = 12;
const CONFIRMED_WORDS: usize = 1 << (CONFIRMED_BITS - u64::BITS.ilog2());

/// The positions of a block at which an anchor may begin.
pub(super) struct Candidates {
    /// One bit per position.
    pub positions: u64,
    /// One byte per position.
    kinds: [u64; BLOCK / 8],
}

impl Candidates {
    /// The kinds of anchors that may begin at a position, as bits.
    #[inline]
    pub fn kind(&self, position: u32) -> u8 {
        let word = self.kinds.get(position as usize / 8).copied().unwrap_or_default();
        (word >> (8 * (position % 8))) as u8
    }
}

/// The bytes of anchors, without regard to ASCII case.
pub(super) struct AnchorFilter {
    table: Box<[u8; 1 << TABLE_BITS]>,
    /// One bit per hash of a prefix.
    beginnings: Box<[u64; CONFIRMED_WORDS]>,
}

impl std::fmt::Debug for AnchorFilter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AnchorFilter").finish_non_exhaustive()
    }
}

impl AnchorFilter {
    /// Builds the filter for anchors of at least three bytes.
    pub fn new<'a>(anchors: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut table = Box::new([0_u8; 1 << TABLE_BITS]);
        let mut beginnings = Box::new([0_u64; CONFIRMED_WORDS]);
        for anchor in anchors {
            let (places, mask): (&[u8], _) = match anchor.len() {
                LENGTH => (&[SHORT], BEGINNING[0]),
                8.. => (&SIX, BEGINNING[3]),
                LONG.. => (&SIX, BEGINNING[2]),
                _ => (&FOUR, BEGINNING[1]),
            };
            for (bytes, place) in anchor.windows(LENGTH).zip(places) {
                let &[first, second, third] = bytes else { continue };
                let index = usize::from(entry(first, second, third));
                table.get_mut(index).into_iter().for_each(|entry| *entry |= place);
            }
            let mut eight = [0; 8];
            eight.iter_mut().zip(anchor).for_each(|(eight, byte)| *eight = *byte);
            let (word, bit) = beginning(u64::from_le_bytes(eight) | SPACES, mask);
            beginnings.get_mut(word).into_iter().for_each(|word| *word |= 1 << bit);
        }
        Self { table, beginnings }
    }

    /// Whether an anchor of three bytes may begin with the given bytes.
    pub fn may_begin_short(&self, bytes: [u8; LENGTH]) -> bool {
        let [first, second, third] = bytes;
        self.entry(entry(first, second, third)) & SHORT != 0
    }

    /// The candidates among the first `count` positions of a text; at most [`BLOCK`] positions are examined.
    #[inline]
    pub fn candidates(&self, text: &[u8], count: usize) -> Candidates {
        let mut entries = [0_u8; INPUT];
        if count >= BLOCK
            && let Some(input) = text.first_chunk::<INPUT>()
        {
            self.fill(&mut entries, input);
            return self.confirmed(input, candidates(&entries));
        }
        let count = count.min(BLOCK);
        let mut input = [0; INPUT];
        input.iter_mut().zip(text).for_each(|(input, byte)| *input = *byte);
        self.fill(&mut entries, &input);
        let mut candidates = candidates(&entries);
        // Entries after the last position only complete the candidates before it.
        let behind = u64::MAX.checked_shl(u32::try_from(count).unwrap_or(u64::BITS));
        candidates.positions &= !behind.unwrap_or(0);
        self.confirmed(&input, candidates)
    }

    /// Keeps the candidates whose prefixes may be those of anchors.
    #[inline]
    fn confirmed(&self, input: &[u8; INPUT], candidates: Candidates) -> Candidates {
        let (mut left, mut positions) = (candidates.positions, 0);
        if left.count_ones() > FEW {
            return candidates;
        }
        while left != 0 {
            let position = left.trailing_zeros();
            left &= left - 1;
            let kind = u64::from(candidates.kind(position));
            let text = eight(input, position as usize) | SPACES;
            let may_begin = |text, mask| {
                let (word, bit) = beginning(text, mask);
                self.beginnings.get(word).copied().unwrap_or_default() >> bit
            };
            let [short, four, six, eight] = BEGINNING;
            let is_confirmed = kind & may_begin(text >> 8, short)
                | kind >> 1 & may_begin(text, four)
                | kind >> 2 & (may_begin(text, six) | may_begin(text, eight));
            positions |= (is_confirmed & 1) << position;
        }
        Candidates { positions, ..candidates }
    }

    /// Fills in the entries of all positions of `input`.
    #[inline]
    fn fill(&self, entries: &mut [u8; INPUT], input: &[u8; INPUT]) {
        let mut indexes = [0_u16; INPUT];
        // No look-up in this loop, so that the compiler vectorises it.
        for (index, bytes) in indexes.iter_mut().zip(input.windows(LENGTH)) {
            let &[first, second, third] = bytes else { continue };
            *index = entry(first, second, third);
        }
        for (entry, &index) in entries.iter_mut().zip(&indexes) {
            *entry = self.entry(index);
        }
    }

    #[inline]
    fn entry(&self, index: u16) -> u8 {
        // The mask changes no index. With it, the compiler leaves out the check of the index.
        self.table.get(usize::from(index) % (1 << TABLE_BITS)).copied().unwrap_or_default()
    }
}

/// The index in the table for the first three of four bytes. Letters that differ only in case share an index, and so do some
/// punctuation characters.
#[inline]
const fn entry(first: u8, second: u8, third: u8) -> u16 {
    let two = u16::from_le_bytes([first | 0x20, second | 0x20]);
    let one = (third | 0x20) as u16;
    two.wrapping_mul(0x7923).wrapping_add(one.wrapping_mul(0x8307)) >> (16 - TABLE_BITS)
}

/// The position of the bit for a text's prefix: word and bit. `mask` selects the bytes of the prefix.
#[inline]
const fn beginning(text: u64, mask: u64) -> (usize, u32) {
    let hash = (text & mask).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - CONFIRMED_BITS);
    ((hash / u64::BITS as u64) as usize, (hash % u64::BITS as u64) as u32)
}

/// A word whose bytes all have the given value.
const fn every(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The bit that distinguishes lower case from upper case letters, in every byte.
const SPACES: u64 = every(b' ');

/// The candidates for the entries of a block and of the positions after it.
#[inline]
fn candidates(entries: &[u8; INPUT]) -> Candidates {
    let mut candidates = Candidates { positions: 0, kinds: [0; BLOCK / 8] };
    for (number, kinds) in candidates.kinds.iter_mut().enumerate() {
        let [one, two, three, four] =
            [0, 1, 2, 3].map(|offset| eight(entries, 8 * number + offset));
        let short = two & every(SHORT);
        let of_four = one & two >> 1 & every(FOUR[0]);
        let of_six = one & two >> 1 & three >> 2 & four >> 3 & every(SIX[0]);
        *kinds = short | of_four | of_six >> 1;
        // Gathers the lowest bit of each byte.
        let bits = (*kinds | *kinds >> 1 | *kinds >> 2) & every(1);
        let bits = bits.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        candidates.positions |= bits << (8 * number);
    }
    candidates
}

#[inline]
fn eight(bytes: &[u8; INPUT], offset: usize) -> u64 {
    let eight = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
    u64::from_le_bytes(eight.copied().unwrap_or_default())
}
