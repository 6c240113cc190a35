//! Rules out most positions of a text at which no anchor begins, 64 positions at once and without a branch per position. Every
//! three adjacent bytes are looked up in one small table, whose entries hold the offsets in anchors at which the bytes occur.

/// Number of positions that are examined at once.
pub(super) const BLOCK: usize = u64::BITS as usize;
/// Number of blocks that are examined together in long texts.
const BLOCKS: usize = 4;
/// Number of positions of these blocks.
pub(super) const CHUNK: usize = BLOCKS * BLOCK;
/// Number of positions whose entries are needed for a block: those of the next three positions complete the candidates before them.
const ENTRIES: usize = BLOCK + 3;
/// Number of bytes at a candidate by which it is confirmed, at most.
pub(super) const PREFIX: usize = 8;
const INPUT: usize = BLOCK + PREFIX;
/// Number of positions whose indexes are computed together.
const LANES: usize = 16;
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
/// Maximum number of candidates of a block that are confirmed; the others are kept. Of many candidates, most are likely to be anchors.
const FEW: usize = 12;
const CONFIRMED_WORDS: usize = 1 << (CONFIRMED_BITS - u64::BITS.ilog2());

/// The positions of a block at which an anchor may begin.
pub(super) struct Candidates {
    /// One bit per position.
    pub positions: u64,
    /// One for each position.
    kinds: [u8; BLOCK],
}

impl Candidates {
    /// The kinds of anchors that may begin at a position, as bits.
    #[inline]
    pub fn kind(&self, position: u32) -> u8 {
        self.kinds.get(position as usize).copied().unwrap_or_default()
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
                let index = usize::from(index_of(first, second, third));
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
        self.entry(index_of(first, second, third)) & SHORT != 0
    }

    /// The candidates among the first [`CHUNK`] positions of a text, by block.
    #[inline]
    pub fn candidates_in_chunk(&self, input: &[u8; CHUNK + PREFIX]) -> [Candidates; BLOCKS] {
        let input = |block: usize| -> &[u8; INPUT] {
            let input = input.get(block * BLOCK..).and_then(|input| input.first_chunk());
            input.unwrap_or(&[0; INPUT])
        };
        // All entries first: a processor waits when it reads several bytes at once that were just written one by one.
        let mut entries = [[0_u8; ENTRIES]; BLOCKS];
        for (block, entries) in entries.iter_mut().enumerate() {
            self.fill(entries, input(block));
        }
        std::array::from_fn(|block| {
            let entries = entries.get(block).unwrap_or(&[0; ENTRIES]);
            self.confirmed(input(block), candidates(entries))
        })
    }

    /// The candidates among the first `count` positions of a text; at most [`BLOCK`] positions are examined.
    #[inline]
    pub fn candidates(&self, text: &[u8], count: usize) -> Candidates {
        let mut entries = [0_u8; ENTRIES];
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
        for _ in 0..FEW {
            if left == 0 {
                break;
            }
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
        Candidates { positions: positions | left, ..candidates }
    }

    /// Fills in the entries of all positions of `input`.
    #[inline]
    fn fill(&self, entries: &mut [u8; ENTRIES], input: &[u8; INPUT]) {
        let (lanes, behind) = entries.as_chunks_mut();
        let mut rest = input.as_slice();
        for entries in lanes {
            self.fill_lanes(entries, rest);
            rest = rest.get(LANES..).unwrap_or_default();
        }
        for (entry, bytes) in behind.iter_mut().zip(rest.windows(LENGTH)) {
            let &[first, second, third] = bytes else { continue };
            *entry = self.entry(index_of(first, second, third));
        }
    }

    /// Fills in the entries of the first positions of `text`.
    #[inline]
    fn fill_lanes(&self, entries: &mut [u8; LANES], text: &[u8]) {
        let from = |offset: usize| text.get(offset..)?.first_chunk::<LANES>();
        let (Some(first), Some(second), Some(third)) = (from(0), from(1), from(2)) else { return };
        let mut indexes = [0_u16; LANES];
        // No look-up in this loop, so that the compiler vectorises it. The number of lanes is constant, so that it keeps the indexes in
        // registers and knows that they are within the table.
        for (((index, first), second), third) in
            indexes.iter_mut().zip(first).zip(second).zip(third)
        {
            *index = index_of(*first, *second, *third);
        }
        for (entry, index) in entries.iter_mut().zip(indexes) {
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
const fn index_of(first: u8, second: u8, third: u8) -> u16 {
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
fn candidates(entries: &[u8; ENTRIES]) -> Candidates {
    let (mut kinds, mut flags) = ([0_u8; BLOCK], [0_u8; BLOCK]);
    // No branch in this loop, so that the compiler vectorises it.
    for ((kind, flag), entries) in kinds.iter_mut().zip(&mut flags).zip(entries.windows(4)) {
        let &[one, two, three, four] = entries else { continue };
        let short = two & SHORT;
        let of_four = one & two >> 1 & FOUR[0];
        let of_six = one & two >> 1 & three >> 2 & four >> 3 & SIX[0];
        *kind = short | of_four | of_six >> 1;
        *flag = u8::from(*kind != 0);
    }
    let mut positions = 0;
    for (flags, number) in flags.as_chunks().0.iter().zip(0..) {
        // Gathers the lowest bit of each byte.
        let bits = u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        positions |= bits << (8 * number);
    }
    Candidates { positions, kinds }
}

#[inline]
fn eight(bytes: &[u8; INPUT], offset: usize) -> u64 {
    let eight = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
    u64::from_le_bytes(eight.copied().unwrap_or_default())
}
