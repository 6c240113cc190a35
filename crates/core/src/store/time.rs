//! Times of entries, in ms since 1970: parsing and formatting.

use chrono::{DateTime, NaiveDate, NaiveDateTime, SubsecRound, Utc};

/// The current time.
pub(super) fn now() -> i64 {
    Utc::now().timestamp_millis()
}

/// Formats as ISO 8601 in UTC, with milliseconds unless they are 0.
pub(super) fn iso(time: i64) -> String {
    format(
        time,
        if time.rem_euclid(1000) == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%.3fZ" },
    )
}

/// Formats as in the names of entries: `20260221T143022`.
pub(super) fn compact(time: i64) -> String {
    format(time, "%Y%m%dT%H%M%S")
}

fn format(time: i64, pattern: &str) -> String {
    DateTime::from_timestamp_millis(time).unwrap_or_default().format(pattern).to_string()
}

/// Cuts the milliseconds off, which file names and front matter do not have.
pub(super) fn whole_seconds(time: i64) -> i64 {
    time - time.rem_euclid(1000)
}

/// Parses the times of front matter and changelogs: ISO 8601 with or without fractions of a second
/// and offset, with `T` or a space before the time, or only a date.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.trunc_subsecs(3).timestamp_millis());
    }
    for pattern in
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
    {
        let plain = text.strip_suffix(['Z', 'z']).map_or(text, str::trim_end);
        if let Ok(time) = NaiveDateTime::parse_from_str(plain, pattern) {
            return Some(time.and_utc().timestamp_millis());
        }
    }
    for pattern in
        ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z"]
    {
        if let Ok(time) = DateTime::parse_from_str(text, pattern) {
            return Some(time.timestamp_millis());
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
}

/// Parses the time at the start of an entry's file name: `20260221T143022`, also with fractions of
/// a second and `Z`.
pub(super) fn parse_compact(name: &str) -> Option<i64> {
    let (stamp, _) = name.split_once('-')?;
    let stamp = stamp.strip_suffix('Z').unwrap_or(stamp);
    let time = NaiveDateTime::parse_from_str(stamp, "%Y%m%dT%H%M%S%.f").ok()?;
    Some(time.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: i64 = 1_771_684_222_000;

    #[test]
    fn is_written_in_seconds() {
        assert_eq!(iso(TIME), "2026-02-21T14:30:22Z");
        assert_eq!(iso(TIME + 7), "2026-02-21T14:30:22.007Z");
        assert_eq!(compact(TIME + 999), "20260221T143022");
        assert_eq!(whole_seconds(TIME + 999), TIME);
        assert_eq!(whole_seconds(-1), -1000);
    }

    #[test]
    fn is_read_in_the_ways_it_is_written() {
        for text in [
            "2026-02-21T14:30:22Z",
            "2026-02-21t14:30:22z",
            "2026-02-21T14:30:22.000Z",
            "2026-02-21T14:30:22.000000Z",
            "2026-02-21T14:30:22+00:00",
            "2026-02-21T15:30:22+01:00",
            "2026-02-21T15:30:22+0100",
            "2026-02-21T14:30:22",
            "2026-02-21 14:30:22",
            "2026-02-21 14:30:22 Z",
            "2026-02-21 15:30:22 +01:00",
        ] {
            assert_eq!(parse(text), Some(TIME), "{text}");
        }
        assert_eq!(parse("2026-02-21T14:30:22.5Z"), Some(TIME + 500));
        assert_eq!(parse("2026-02-21T14:30"), Some(TIME - 22_000));
        assert_eq!(parse("2026-02-21").map(iso).as_deref(), Some("2026-02-21T00:00:00Z"));
        for text in ["", "yesterday", "2026-02-30", "2026-02-21T25:00:00Z", "1771684222"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn is_read_from_names() {
        for name in ["20260221T143022-a.md", "20260221T143022Z-a.md", "20260221T143022.000Z-a-b.md"]
        {
            assert_eq!(parse_compact(name), Some(TIME), "{name}");
        }
        for name in ["a.md", "20260221-a.md", "20260221T143022.md", "-a.md"] {
            assert_eq!(parse_compact(name), None, "{name}");
        }
    }
}
