//! The format of cache files: 16 magic bytes that name the format and its version, the CRC-32 of the contents (4 bytes,
//! little endian), and the contents.
//!
//! A file with other magic bytes or a wrong checksum has no contents for the reader, which then rebuilds the cache.

const MAGIC: usize = 16;
const CHECKSUM: usize = 4;

/// A cache file that is being written.
pub struct CacheFile(Vec<u8>);

impl CacheFile {
    /// Starts a file of the format that `magic` names, with capacity for `length` bytes of contents.
    #[must_use]
    pub fn new(magic: &[u8; MAGIC], contents: usize) -> Self {
        let mut bytes = Vec::with_capacity(MAGIC + CHECKSUM + contents);
        bytes.extend(magic);
        bytes.extend([0; CHECKSUM]);
        Self(bytes)
    }

    /// The complete file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.0;
        if let Some((prefix, contents)) = bytes.split_at_mut_checked(MAGIC + CHECKSUM)
            && let Some((_, checksum)) = prefix.split_last_chunk_mut::<CHECKSUM>()
        {
            *checksum = crc32fast::hash(contents).to_le_bytes();
        }
        bytes
    }
}

impl Extend<u8> for CacheFile {
    #[inline]
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}

/// The contents of a cache file of the format that `magic` names; `None` if the file has another format or is damaged.
pub fn contents<'a>(file: &'a [u8], magic: &[u8; MAGIC]) -> Option<&'a [u8]> {
    let (found, rest) = file.split_first_chunk::<MAGIC>()?;
    let (checksum, contents) = rest.split_first_chunk::<CHECKSUM>()?;
    let is_sound = found == magic && u32::from_le_bytes(*checksum) == crc32fast::hash(contents);
    is_sound.then_some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &[u8; MAGIC] = b"a cache of ours\n";

    fn file(contents: &[u8]) -> Vec<u8> {
        let mut file = CacheFile::new(FORMAT, contents.len());
        file.extend(contents.iter().copied());
        file.finish()
    }

    #[test]
    fn a_file_is_format_checksum_and_contents() {
        let file = file(b"123456789");
        assert_eq!(file, [FORMAT, &0xcbf4_3926_u32.to_le_bytes()[..], b"123456789"].concat());
        assert_eq!(contents(&file, FORMAT), Some(&b"123456789"[..]));
        assert_eq!(contents(&file, b"b cache of ours\n"), None);
    }

    #[test]
    fn damaged_files_have_no_contents() {
        let whole = file(b"contents");
        for end in 0..whole.len() {
            assert_eq!(contents(&whole[..end], FORMAT), None, "cut at {end}");
            let mut damaged = whole.clone();
            damaged[end] ^= 1;
            assert_eq!(contents(&damaged, FORMAT), None, "damaged at {end}");
        }
        assert_eq!(contents(&file(b""), FORMAT), Some(&[][..]));
    }
}
